"""The herder's actions: values that the worker carries out in order.

An ``Ask`` is done in the background and answered by ``Completed(token, outcome)``; other actions have no answer, their
effects arrive as events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.core.group.membership import ClusterConfigSnapshot
from penstock.core.model.messages import Elsewhere, OffsetChanges, Reply
from penstock.core.model.records import ConfigTopicRecord, StatusTopicRecord
from penstock.core.model.tasks import TaskId


@dataclass(frozen=True, slots=True)
class Action:
    """Base of all actions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask(Action):
    """``token`` is set by the flow that yields it."""

    token: int = 0


@dataclass(frozen=True, slots=True)
class Answer(Action):
    """The answer to request ``request``, a number given by ``Submitted``."""

    request: int
    reply: Reply | Elsewhere


# -- the topics


@dataclass(frozen=True, slots=True)
class AppendConfig(Ask):
    """Append to the config topic, with exactly once in one transaction, and read up to there. Outcome: None."""

    records: tuple[ConfigTopicRecord, ...]
    as_leader: bool = True


@dataclass(frozen=True, slots=True)
class ReadConfigToEnd(Ask):
    """Read the config topic up to its present end; all records up to there have been handled before. Outcome: None."""


@dataclass(frozen=True, slots=True)
class ClaimConfigTopic(Ask):
    """Become the only leader that can write to the config topic (KIP-618). Outcome: None."""


@dataclass(frozen=True, slots=True)
class AppendStatus(Action):
    records: tuple[StatusTopicRecord, ...]


# -- the group


@dataclass(frozen=True, slots=True)
class JoinGroup(Action):
    """Start to be a member of the worker group; ``Publish`` comes before."""


@dataclass(frozen=True, slots=True)
class Publish(Action):
    """The snapshot that the assignor and join requests use from now on."""

    snapshot: ClusterConfigSnapshot


@dataclass(frozen=True, slots=True)
class Rejoin(Action):
    reason: str


@dataclass(frozen=True, slots=True)
class LeaveGroup(Action):
    """Be no member until ``Rejoin``."""

    reason: str
    keeps_work: bool = True
    """Whether it claims its connectors and tasks when it joins again."""


@dataclass(frozen=True, slots=True)
class ConfirmMembership(Ask):
    """Does the coordinator count this worker as a member now? Outcome: a bool, after the events of all rebalances that
    were before.
    """


@dataclass(frozen=True, slots=True)
class Release(Action):
    """Everything has been stopped as the group asked: call ``done``, so that the rebalance proceeds."""

    done: Callable[[], None]


# -- connectors


@dataclass(frozen=True, slots=True)
class StartConnector(Action):
    name: str
    run: int
    config: Mapping[str, str]
    target_state: str


@dataclass(frozen=True, slots=True)
class ChangeConnectorState(Action):
    name: str
    run: int
    target_state: str


@dataclass(frozen=True, slots=True)
class StopConnectorRun(Action):
    name: str
    run: int


@dataclass(frozen=True, slots=True)
class GeneratedTasks:
    """The task configurations that a connector has made of its own configuration."""

    configs: list[dict[str, str]]
    resolved: bytes
    """A digest of the connector's configuration with the values of config providers: equal if they are, comparable
    only with those of the same worker process.
    """


@dataclass(frozen=True, slots=True)
class MakeTaskConfigs(Ask):
    """Ask a running connector for its tasks' configurations. Outcome: ``GeneratedTasks``, or None if it has failed or
    does not run.
    """

    name: str
    run: int
    max_tasks: int


# -- tasks


@dataclass(frozen=True, slots=True)
class StartTask(Action):
    id: TaskId
    run: int
    config: Mapping[str, str]
    connector_config: Mapping[str, str]
    paused: bool
    known_topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PauseTask(Action):
    id: TaskId


@dataclass(frozen=True, slots=True)
class ResumeTask(Action):
    id: TaskId


@dataclass(frozen=True, slots=True)
class StopTask(Action):
    id: TaskId


@dataclass(frozen=True, slots=True)
class ResetTaskTopics(Action):
    id: TaskId


# -- long operations


@dataclass(frozen=True, slots=True)
class Validate(Ask):
    """Check a connector's configuration. Outcome: None, or the text of all errors."""

    config: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class FenceProducers(Ask):
    """Fence the producers of this many tasks (KIP-618). Outcome: None."""

    connector: str
    tasks: int
    config: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ReadOffsets(Ask):
    """Outcome: the list of ``{"partition":…, "offset":…}``."""

    connector: str
    config: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class WriteOffsets(Ask):
    """Alter offsets, or reset all of them (``offsets`` is None). Outcome: the message for the client."""

    connector: str
    config: Mapping[str, str]
    offsets: OffsetChanges | None


@dataclass(frozen=True, slots=True)
class CallLeader(Ask):
    """A signed request to the leader. Outcome: None."""

    method: str
    url: str
    path: tuple[str, ...]
    """Its parts, to be escaped."""
    body: Any
    key: bytes | None
    algorithm: str


@dataclass(frozen=True, slots=True)
class MakeSessionKey(Ask):
    """Outcome: random bytes (KIP-507)."""

    algorithm: str
    size: int | None


# -- this worker itself


@dataclass(frozen=True, slots=True)
class SetLogLevel(Action):
    name: str
    level: str


@dataclass(frozen=True, slots=True)
class Log(Action):
    """A line for the log: ``level`` is INFO, WARNING or ERROR."""

    level: str
    text: str
