"""Fencing of a connector's old tasks before its new ones start (KIP-618).

A source task with exactly once writes under a transactional id of its own. Before the tasks of a new generation
start, the leader fences the producers of the last one, of which the ``tasks-fencing-`` record tells how many there
were, and writes the new number there; only then do tasks start and read their offsets. Where one task follows one
task it fences its predecessor by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.core import actions
from penstock.core.flow import Flow, Until
from penstock.core.records import ConfigTopicRecord, TaskCount, TaskStatus
from penstock.core.work import Phase

if TYPE_CHECKING:
    from penstock.core.herder import Herder


class Fenced(Exception):
    """Another worker has become leader and may write to the config topic; this one no longer."""


@dataclass(slots=True)
class Fencing:
    leading: set[str] = field(default_factory=set)
    """Connectors that this leader is fencing."""
    waiting: set[str] = field(default_factory=set)
    """Connectors whose tasks here wait for the fencing."""


def fence(herder: Herder, name: str) -> Flow:
    """As leader, fence the old tasks of a connector if that is due; several requests at once share one round."""
    yield actions.ReadConfigToEnd()
    yield Until(lambda: name not in herder.fencing.leading, herder.settings.request_timeout_ms, f"fencing of {name}")
    state = herder.state
    connector = state.connectors.get(name)
    if connector is None or name not in state.pending_fencing:
        return
    herder.fencing.leading.add(name)
    try:
        position, count, old = connector.tasks_position, len(connector.task_configs), state.task_counts.get(name)
        if old is not None and (old, count) != (1, 1):
            yield actions.FenceProducers(name, old, connector.config)
            if name not in state.connectors or state.connectors[name].tasks_position != position:
                raise RuntimeError(
                    f"new task configurations were written for {name} while its old tasks were being fenced"
                )
        yield from append(herder, TaskCount(name, count))
    finally:
        herder.fencing.leading.discard(name)


def fence_before_start(herder: Herder, name: str) -> None:
    """Have the connector's old tasks fenced, here or at the leader, then let its tasks here start; or fail them."""
    if name in herder.fencing.waiting:
        return
    herder.fencing.waiting.add(name)

    def flow() -> Flow:
        if herder.is_leader:
            yield Until(
                herder.ready_to_lead, herder.settings.request_timeout_ms, "this leader's claim to the config topic"
            )
            yield from fence(herder, name)
        else:
            key, settings = herder.state.session_key, herder.settings
            yield actions.CallLeader(
                "PUT",
                herder.leader_url or "",
                ("connectors", name, "fence"),
                None,
                None if key is None else key.key,
                settings.signature_algorithm,
            )
            yield Until(
                lambda: name not in herder.state.pending_fencing, settings.request_timeout_ms, f"fencing of {name}"
            )

    def done(_: object, error: BaseException | None) -> None:
        herder.fencing.waiting.discard(name)
        if error is None:
            herder.work.prepared(name)
        else:
            _fail_waiting(herder, name, error)

    herder.start(flow(), done)


def _fail_waiting(herder: Herder, name: str, error: BaseException) -> None:
    trace = (
        "org.apache.kafka.connect.errors.ConnectException: Failed to perform zombie fencing\n"
        f"Caused by: {type(error).__name__}: {error}\n"
    )
    settings = herder.settings
    for task in herder.work.tasks.values():
        if task.id.connector == name and task.phase is Phase.PREPARING:
            task.phase, task.ended = Phase.FAILED, True
            status = TaskStatus(task.id, "FAILED", settings.worker_id, herder.generation, trace)
            herder.emit(actions.AppendStatus((status,)))


def append(herder: Herder, *records: ConfigTopicRecord) -> Flow:
    """Write to the config topic as leader, and wait until the records have been read back.

    A leader that finds itself fenced claims the topic once more, if it still leads (it may have been the other one
    that was late).
    """
    try:
        yield actions.AppendConfig(records)
    except Fenced:
        herder.claimed = False
        if not herder.is_leader:
            raise
        yield actions.ClaimConfigTopic()
        herder.claimed = True
        yield actions.AppendConfig(records)
