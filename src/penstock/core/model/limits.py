"""Limits of connectors, so that no name, task or configuration makes a message that cannot be encoded or stored.

The group protocol writes a name's length in 2 bytes, the broker stores the metadata and assignments of a whole group as
one record (``message.max.bytes`` of the broker, 1 MiB by default), a configuration is one record of the config topic,
and names are part of URLs, client ids, group ids and transactional ids. Java has none of these limits: there, a name of
40,000 characters ends the group.

``problem_of`` judges records of the config topic alike on all workers, as it depends on nothing but the record.
``fitting`` is the leader's choice of what it distributes; the state of a worker does not depend on it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence

from penstock.core.model.records import (
    ConfigTopicRecord,
    ConnectorConfig,
    LoggerLevel,
    PolicyRestart,
    RecordSkip,
    RestartRequest,
    SessionKey,
    TargetState,
    TaskConfig,
    TaskCount,
    TasksCommit,
)
from penstock.core.model.skips import MAX_SKIPPED, Skip

MAX_NAME_BYTES = 1024
"""Bytes of a connector's name in UTF-8; three times as many characters in a URL."""
MAX_TASKS = 10_000
"""Tasks of a connector."""
MAX_KEY_BYTES = 4096
"""Bytes of a session key; the largest that a worker makes has 64, unless ``inter.worker.key.size`` is set."""
MAX_GROUP_BYTES = 700_000
"""Default of ``penstock.group.max.bytes``: with what members run, and what is taken from them or given to them in one
rebalance, below 1 MiB.
"""
DEFAULT_RECORD_BYTES = 1_048_576
"""Default of ``max.request.size``."""
RECORD_OVERHEAD = 4096
"""Bytes left for a record's key, headers and batch, and for what the history topic adds."""
_SHOWN = 60


def shortened(text: str) -> str:
    """Return the text as messages show it, without a middle that would make them long."""
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 13]}...{text[-10:]}"


def name_problem(name: str) -> str | None:
    """Return why no connector may have this name; None for a name of an accepted length."""
    size = len(name.encode(errors="surrogatepass"))
    if size <= MAX_NAME_BYTES:
        return None
    return f"the name {shortened(name)} has {size} bytes; {MAX_NAME_BYTES} are accepted"


def tasks_problem(count: int) -> str | None:
    """Return why a connector may not have this many tasks."""
    if 0 <= count <= MAX_TASKS:
        return None
    return f"{count} tasks; 0 to {MAX_TASKS} are accepted"


def config_problem(config: Mapping[str, str | None], max_record_bytes: int) -> str | None:
    """Return why a configuration does not fit into a record of the config topic; ``max_record_bytes`` is the worker's
    ``max.request.size``.
    """
    limit = max(max_record_bytes - RECORD_OVERHEAD, 0)
    size = config_bytes(config)
    return None if size <= limit else f"the configuration has {size} bytes as JSON; {limit} are accepted"


def task_configs_problem(configs: Sequence[Mapping[str, str]], max_record_bytes: int) -> str | None:
    """Return why the configurations that a connector has made for its tasks can't be stored."""
    if (problem := tasks_problem(len(configs))) is not None:
        return problem
    problems = ((number, config_problem(config, max_record_bytes)) for number, config in enumerate(configs))
    return next((f"task {number}: {problem}" for number, problem in problems if problem is not None), None)


def config_bytes(config: Mapping[str, str | None]) -> int:
    """Return the size of a configuration as JSON."""
    if 6 * sum(len(key) + len(value or "null") + 6 for key, value in config.items()) < RECORD_OVERHEAD:
        return RECORD_OVERHEAD  # far below each limit
    return len(json.dumps(config, ensure_ascii=False).encode(errors="surrogatepass"))


def problem_of(record: ConfigTopicRecord) -> str | None:
    """Return why a record of the config topic is ignored although it can be read; None for one that counts."""
    match record:
        case TasksCommit(name, count) | TaskCount(name, count):
            return name_problem(name) or tasks_problem(count)
        case TaskConfig(id, _):
            return name_problem(id.connector) or tasks_problem(id.task + 1)
        case ConnectorConfig(name) | TargetState(name) | RestartRequest(name) | LoggerLevel(name):
            return name_problem(name)
        case PolicyRestart(name, chosen, others):
            return name_problem(name) or _restarts_problem(len(chosen) + len(others))
        case RecordSkip(name, skip):
            return name_problem(name) or _skip_problem(skip)
        case SessionKey(key, algorithm, created_ms):
            return _key_problem(key, algorithm, created_ms)


def _restarts_problem(count: int) -> str | None:
    return None if count <= MAX_TASKS + 1 else f"it counts restarts of {count} instances; {MAX_TASKS + 1} are accepted"


def _skip_problem(skip: Skip) -> str | None:
    if 0 <= skip.partition < 2**31 and 0 <= skip.first <= skip.last < min(skip.first + MAX_SKIPPED, 2**63):
        return None
    return f"{skip.partition} is no partition, or {skip.first} to {skip.last} are not up to {MAX_SKIPPED} offsets"


def _key_problem(key: bytes, algorithm: str, created_ms: int) -> str | None:
    if not 0 < len(key) <= MAX_KEY_BYTES:
        return f"the session key has {len(key)} bytes; 1 to {MAX_KEY_BYTES} are accepted"
    if len(algorithm) > _SHOWN:
        return f"the name of the algorithm has {len(algorithm)} characters; {_SHOWN} are accepted"
    if not 0 <= created_ms < 2**63:
        return f"the time {shortened(str(created_ms))} is none in milliseconds"
    return None


# -- the group


def share_bytes(name: str, tasks: int, members: int) -> int:
    """Return the bytes of a connector and its tasks in the group's assignments: an entry of each member that runs some
    of them.
    """
    entries = 1 + min(tasks, members)
    return entries * (len(name.encode(errors="surrogatepass")) + 6) + 4 * (1 + tasks)


def group_bytes(connectors: Mapping[str, int], members: int) -> int:
    """Return the bytes of all connectors, by name with their numbers of tasks, in the group's assignments."""
    return sum(share_bytes(name, tasks, members) for name, tasks in connectors.items())


def fitting(connectors: Mapping[str, int], running: Collection[str], members: int, limit: int) -> Mapping[str, int]:
    """Return the connectors whose assignments fit into this many bytes; those that run, and then short ones, first.

    The same for each leader that the same members report the same work to.
    """
    if group_bytes(connectors, members) <= limit:
        return connectors
    sizes = {name: share_bytes(name, tasks, members) for name, tasks in connectors.items()}
    chosen = set(_within(sorted(sizes, key=lambda name: (name not in running, sizes[name], name)), sizes, limit))
    return {name: tasks for name, tasks in connectors.items() if name in chosen}


def _within(names: Sequence[str], sizes: Mapping[str, int], limit: int) -> Iterator[str]:
    for name in names:
        limit -= sizes[name]
        if limit < 0:
            limit += sizes[name]
        else:
            yield name
