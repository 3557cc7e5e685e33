"""Fencing of a connector's old tasks before its new ones start (KIP-618).

A source task with exactly once writes under a transactional id of its own. Before the tasks of a new generation start,
the leader fences the producers of the last one, whose number is in the ``tasks-fencing-`` record, and writes the new
number there; only then do tasks start and read their offsets. A single task that follows a single task fences its
predecessor itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.core.group.catch_up import ConfigReader
from penstock.core.group.leadership import Leadership
from penstock.core.model import actions
from penstock.core.model.flow import Flow, Output, Until
from penstock.core.model.messages import Refused
from penstock.core.model.records import TaskCount
from penstock.core.model.settings import HerderSettings, PluginFacts
from penstock.core.model.state import ClusterState
from penstock.core.session_keys import SessionKeys
from penstock.core.status.writer import StatusWriter
from penstock.core.work import Work

RETRY_MS = 250


@dataclass(slots=True)
class ZombieFencing:
    """Fencing of the producers of old tasks by the leader, once for several requests at the same time."""

    settings: HerderSettings
    plugins: PluginFacts
    state: ClusterState
    leadership: Leadership
    reader: ConfigReader
    _under_way: set[str] = field(default_factory=set)

    def applies_to(self, config: Mapping[str, str]) -> bool:
        """Whether tasks of such a connector write exactly once."""
        return self.settings.exactly_once and self.plugins.kind(config) == "source"

    def is_due(self, name: str) -> bool:
        """Whether the connector's tasks must not start before its old ones have been fenced."""
        due = self.settings.exactly_once and name in self.state.pending_fencing
        return due and self.applies_to(self.state.connectors[name].config)

    def fence(self, name: str) -> Flow:
        """Fence, as leader, the old tasks of a connector if that is due."""
        yield from self.reader.read_to_end("performing zombie fencing")
        timeout_ms = self.settings.request_timeout_ms
        yield Until(lambda: name not in self._under_way, timeout_ms, f"fencing of {name}")
        state = self.state
        connector = state.connectors.get(name)
        if connector is None or name not in state.pending_fencing:
            return
        position, count, old = connector.tasks_position, len(connector.task_configs), state.task_counts.get(name)

        def write_count() -> Flow:
            present = state.connectors.get(name)
            if present is None or present.tasks_position != position:
                raise Refused(
                    409, f"Failed to complete zombie fencing of {name} because a new set of task configs was generated"
                )
            yield from self.leadership.append(TaskCount(name, count))

        self._under_way.add(name)
        try:
            if old is not None and (old, count) != (1, 1):
                yield actions.FenceProducers(name, old, connector.config)
            yield from self.leadership.changes.through(write_count())
        finally:
            self._under_way.discard(name)


@dataclass(slots=True)
class FencingBeforeStart:
    """Fencing by every worker: it has old tasks fenced, here or by the leader, before new ones start here."""

    output: Output
    work: Work
    zombies: ZombieFencing
    keys: SessionKeys
    writer: StatusWriter
    _waiting: set[str] = field(default_factory=set)

    def prepare(self, name: str) -> None:
        """Have the connector's old tasks fenced, then let its tasks here start; if that fails, they fail."""
        if name in self._waiting:
            return
        self._waiting.add(name)

        def done(_: object, error: BaseException | None) -> None:
            self._waiting.discard(name)
            if error is None:
                self.work.prepared(name)
            else:
                self._fail_waiting(name, error)

        self.output.start(self._fence_while_waited_for(name), done)

    def _fence_while_waited_for(self, name: str) -> Flow:
        """Retry for as long as a request may take: the leader may change, or be unreachable for a moment."""
        give_up_at = self.output.now + self.zombies.settings.request_timeout_ms
        while self.work.preparing(name):
            try:
                yield from self._fence_here_or_there(name)
                return
            except Exception as error:
                if self.output.now >= give_up_at:
                    raise
                self.output.log(
                    "WARNING", f"The old tasks of {name} could not be fenced; retrying in {RETRY_MS} ms: {error}"
                )
            try:
                yield Until(lambda: not self.work.preparing(name), RETRY_MS, "")
            except TimeoutError:
                continue

    def _fence_here_or_there(self, name: str) -> Flow:
        leadership = self.zombies.leadership
        yield from leadership.known()
        if leadership.membership.is_leader:
            yield from self.zombies.fence(name)
            return
        yield from self.keys.key_known()
        position = self._generation(name)
        yield self.keys.call_leader("PUT", ("connectors", name, "fence"), None)
        timeout_ms, state = self.zombies.settings.request_timeout_ms, self.zombies.state

        def is_over() -> bool:
            """Whether fencing has ended. A later generation is fenced when its own tasks are prepared."""
            return name not in state.pending_fencing or self._generation(name) != position

        yield Until(is_over, timeout_ms, f"{name} has not been fenced.")

    def _generation(self, name: str) -> int | None:
        connector = self.zombies.state.connectors.get(name)
        return None if connector is None else connector.tasks_position

    def _fail_waiting(self, name: str, error: BaseException) -> None:
        trace = (
            "org.apache.kafka.connect.errors.ConnectException: Failed to perform zombie fencing\n"
            f"Caused by: {type(error).__name__}: {error}\n"
        )
        for task in self.work.preparing(name):
            self.writer.fail_task(task, trace)
            self.work.ended(task)
