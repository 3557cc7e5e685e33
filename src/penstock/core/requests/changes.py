"""Requests that change connectors.

Each is a flow that ends in records of the config topic (Java: AbstractHerder, DistributedHerder, StandaloneHerder).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.core.config.secrets import restored
from penstock.core.exactly_once import ZombieFencing
from penstock.core.group.leadership import Leadership
from penstock.core.model import actions
from penstock.core.model import messages as m
from penstock.core.model.flow import Flow, Until
from penstock.core.model.limits import config_problem, group_bytes, shortened
from penstock.core.model.records import (
    ConfigTopicRecord,
    ConnectorConfig,
    LoggerLevel,
    TargetState,
    TaskConfig,
    TaskCount,
    TasksCommit,
)
from penstock.core.model.settings import HerderSettings
from penstock.core.model.state import STARTED, STOPPED, ClusterState
from penstock.core.model.tasks import TaskId
from penstock.core.offsets import TaskEnds
from penstock.core.requests.reads import Reads, config_of
from penstock.core.status.cleanup import StatusCleanup
from penstock.core.work import Phase, Reconfiguration, Work


@dataclass(slots=True)
class Changes:
    settings: HerderSettings
    state: ClusterState
    work: Work
    leadership: Leadership
    cleanup: StatusCleanup
    reads: Reads
    ends: TaskEnds
    zombies: ZombieFencing

    def create(self, request: m.CreateConnector) -> Flow:
        """201 with the connector; 409 if there is one of this name."""
        return (yield from self._put(request, replace=False))

    def put_config(self, request: m.PutConfig) -> Flow:
        """200, or 201 for a new connector."""
        return (
            yield from self._put(
                m.CreateConnector(request.name, request.config, principal=request.principal), replace=True
            )
        )

    def patch_config(self, request: m.PatchConfig) -> Flow:
        yield from self.leadership.as_leader()
        config: dict[str, str | None] = {**config_of(self.state, request.name), **request.patch}
        kept: dict[str, str | None] = {key: value for key, value in config.items() if value is not None}
        created = m.CreateConnector(request.name, kept, principal=request.principal)
        return (yield from self._put(created, replace=True))

    def _put(self, request: m.CreateConnector, replace: bool) -> Flow:
        name = request.name
        known = self.state.connectors.get(name)
        config = restored(request.config, {} if known is None or not replace else known.config)
        problems = yield actions.Validate(config)
        if problems is None and (too_large := config_problem(config, self.settings.max_record_bytes)) is not None:
            problems = f"Connector {shortened(name)} can't be stored: {too_large} (max.request.size of the worker)"
        if problems is not None:
            raise m.Refused(400, problems)
        checked = {key: value for key, value in config.items() if value is not None}
        if request.initial_offsets is not None:
            yield from self._after_deletion(name)

        def write() -> Flow:
            exists = name in self.state.connectors
            if exists and not replace:
                raise m.Refused(409, f"Connector {name} already exists")
            if not exists:
                self._check_room(name)
            if request.initial_offsets is not None:
                if not self.ends.have_come(name):  # deleted again meanwhile
                    raise _not_ended(name)
                count = self.state.task_counts.get(name)
                if count is not None and self.zombies.applies_to(checked):
                    yield actions.FenceProducers(name, count, checked)
                yield actions.WriteOffsets(name, checked, request.initial_offsets)
            state = request.initial_state
            who = request.principal
            records: list[ConfigTopicRecord] = [] if state is None else [TargetState(name, state, who)]
            shown = self.reads.info(name, checked)  # with the tasks that it had before
            records += [ConnectorConfig(name, checked, who), *self._tasks_of(name, checked)]
            yield from self.leadership.append(*records)
            return m.Reply(200 if exists else 201, shown)

        reply = yield from self.leadership.one_by_one(write)
        if not self.settings.distributed:
            yield from self._until_made(name)
            return m.Reply(reply.status, self.reads.info(name, checked))
        return reply

    def _tasks_of(self, name: str, config: Mapping[str, str]) -> list[ConfigTopicRecord]:
        """Return the records of the connector's tasks if the configuration is the one that they were generated from.

        They are written again behind it: compaction removes the earlier record of the configuration, and a worker that
        starts then ignores tasks of a connector that it has not read of yet (KAFKA-17719).
        """
        known = self.state.connectors.get(name)
        if known is None or not known.task_configs or not known.config == known.applied_config == config:
            return []
        tasks = [TaskConfig(TaskId(name, i), each) for i, each in enumerate(known.task_configs)]
        fenced = name in self.state.task_counts and name not in self.state.pending_fencing
        counts = [TaskCount(name, self.state.task_counts[name])] if fenced else []
        return [*tasks, TasksCommit(name, len(tasks)), *counts]

    def _after_deletion(self, name: str) -> Flow:
        """Continue when no task of a deleted connector of this name can commit offsets any more.

        Raises Refused with 409 if that takes too long.
        """
        yield from self.leadership.as_leader()
        if name in self.state.connectors:
            return
        try:
            yield from self.ends.wait(name)
        except TimeoutError:
            raise _not_ended(name) from None

    def _check_room(self, name: str) -> None:
        """Raise Refused unless the group can assign another connector of this name."""
        if not self.settings.distributed:
            return
        members = max(1, len(self.leadership.membership.known_workers))
        present = {each: len(known.task_configs) for each, known in self.state.connectors.items()}
        size, limit = group_bytes({**present, name: 1}, members), self.settings.max_group_bytes
        if size > limit:
            raise m.Refused(
                400,
                f"Connector {shortened(name)} can't be created: with it the assignments of {len(present) + 1} "
                f"connectors need {size} bytes; penstock.group.max.bytes={limit} are accepted",
            )

    def _until_made(self, name: str) -> Flow:
        """Wait, in standalone mode, until the connector has reached its target state and its tasks have been generated.

        Raises Refused with 500 and the reason if it could not be started.
        """

        def made() -> bool:
            known, run = self.state.connectors.get(name), self.work.connectors.get(name)
            if known is None or run is None or run.config is not known.config:
                return known is None
            match run.phase:
                case Phase.RUNNING:
                    return run.tasks is not None and run.reconfiguration is Reconfiguration.IDLE
                case Phase.PAUSED | Phase.FAILED:
                    return True
            return False

        yield Until(made, self.settings.request_timeout_ms, f"The start of connector {name} is not over yet.")
        run = self.work.connectors.get(name)
        if run is not None and run.phase is Phase.FAILED:
            reason = "" if run.last_status is None else (run.last_status.trace or "").partition("\n")[0]
            raise m.Refused(500, reason.partition(": ")[2] or f"Failed to start connector: {name}")

    def delete(self, request: m.DeleteConnector) -> Flow:
        """Write tombstones for the connector and its target state, then for its status and topics."""

        def write() -> Flow:
            config_of(self.state, request.name)
            deleted = ConnectorConfig(request.name, None, request.principal)
            yield from self.leadership.append(deleted, TargetState(request.name, None))
            self.cleanup.clear_connector(request.name)
            return m.Reply(204)

        return (yield from self.leadership.one_by_one(write))

    def set_target_state(self, request: m.SetTargetState) -> Flow:
        """Pause or resume; any worker may write this."""
        config_of(self.state, request.name, "Unknown connector {}")
        state = TargetState(request.name, request.state, request.principal, self._bulk_of(request))
        yield actions.AppendConfig((state,), as_leader=False)
        return m.Reply(202)

    def stop(self, request: m.StopConnector) -> Flow:
        """Take back its tasks, and stop it."""
        config_of(self.state, request.name, "Unknown connector {}")

        def write() -> Flow:
            config_of(self.state, request.name, "Unknown connector {}")
            stopped = TargetState(request.name, STOPPED, request.principal, self._bulk_of(request))
            yield from self.leadership.append(TasksCommit(request.name, 0), stopped)
            return m.Reply(204)

        return (yield from self.leadership.one_by_one(write))

    def _bulk_of(self, request: m.SetTargetState | m.StopConnector) -> str | None:
        """Return the bulk action whose resume starts the connector again: not one that finds it paused or stopped.

        A request that is sent again finds its own effect.
        """
        ran = self.state.target_state(request.name) == STARTED
        return request.bulk if ran or self.state.target_bulks.get(request.name) == request.bulk else None


def _not_ended(name: str) -> m.Refused:
    return m.Refused(
        409,
        f"The tasks of the deleted connector {name} have not ended yet and may still commit offsets; "
        "the request can be safely retried",
    )


def set_cluster_logger(request: m.SetClusterLogger) -> Flow:
    """Set a logger's level on all workers (KIP-976); any worker may write it."""
    yield actions.AppendConfig((LoggerLevel(request.name, request.level),), as_leader=False)
    return m.Reply(204)
