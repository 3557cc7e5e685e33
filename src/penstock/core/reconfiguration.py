"""Generation of a connector's task configurations: the connector is asked for them, and changes are published.

This happens whenever a connector starts to run and whenever it requests it. The leader writes the task configurations
to the config topic; another worker sends them to the leader. It is retried without end, with growing backoff, for as
long as that run of the connector lasts.

Values of config providers are not in the config topic, so this worker remembers a digest of those that the tasks were
configured with (Java: ``AppliedConnectorConfig``). A worker that does not know it, because the tasks were configured
before it ran the connector, assumes the values that it sees first.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field

from penstock.api.config_types import ConfigType, parse_type
from penstock.api.errors import ConfigError, ConnectError
from penstock.core.config.connector import TASKS_MAX
from penstock.core.config.runtime_settings import value_of
from penstock.core.group.leadership import Leadership
from penstock.core.model import actions
from penstock.core.model.flow import Flow, Output, Until
from penstock.core.model.limits import MAX_TASKS, shortened, task_configs_problem
from penstock.core.model.messages import Refused
from penstock.core.model.records import ConfigTopicRecord, TaskConfig, TasksCommit
from penstock.core.model.state import STARTED, STOPPED, ClusterState
from penstock.core.model.tasks import TaskId
from penstock.core.session_keys import SessionKeys
from penstock.core.work import ConnectorRun, Phase, Reconfiguration, Work

FIRST_BACKOFF_MS = 250
LAST_BACKOFF_MS = 60_000


@dataclass(slots=True)
class Reconfigurations:
    output: Output
    state: ClusterState
    work: Work
    leadership: Leadership
    keys: SessionKeys
    _applied: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    """Position of the commit of a connector's tasks, and the digest of what they were generated from, by connector."""

    def request(self, name: str) -> None:
        """Ask the connector that runs here for its tasks; if it is being asked already, ask again afterwards."""
        run = self.work.connectors.get(name)
        if run is None:
            return
        if run.reconfiguration is not Reconfiguration.IDLE:
            run.reconfiguration = Reconfiguration.WANTED_AGAIN
            return
        run.reconfiguration = Reconfiguration.UNDER_WAY

        def done(_: object, error: BaseException | None) -> None:
            again = run.reconfiguration is Reconfiguration.WANTED_AGAIN
            run.reconfiguration = Reconfiguration.IDLE
            if error is not None:
                self.output.log("ERROR", f"The tasks of connector {name} could not be configured: {_described(error)}")
            if again:
                self.request(name)

        self.output.start(self._reconfigure(run), done)

    def committed(self, name: str) -> None:
        """Ask the connector again if an older set of configurations was written late; called with every commit.

        That may happen even while the answer for the newer set is awaited.
        """
        run, connector = self.work.connectors.get(name), self.state.connectors.get(name)
        if run is None or run.tasks is None or connector is None:
            return
        if connector.task_configs == run.tasks.configs:
            self._applied[name] = (connector.tasks_position, run.tasks.resolved)
        elif connector.task_configs and self._is_running(run):
            self.request(name)

    def resumed(self, name: str) -> None:
        """Ask the connector again if its tasks were taken back; called with every record that starts a connector.

        If the record that stopped it was read together with this one, only its tasks have stopped.
        """
        run, connector = self.work.connectors.get(name), self.state.connectors.get(name)
        if run is None or run.tasks is None or connector is None:
            return
        if connector.task_configs != run.tasks.configs and self._is_running(run):
            self.request(name)

    def forget(self, name: str) -> None:
        """Forget a connector; called when it is deleted."""
        self._applied.pop(name, None)

    def _reconfigure(self, run: ConnectorRun) -> Flow:
        backoff = FIRST_BACKOFF_MS
        while self._is_running(run):
            try:
                most = min(max(1, _tasks_max(run.config)), MAX_TASKS)
                tasks = yield actions.MakeTaskConfigs(run.name, run.run, most)
                if not self._is_running(run) or tasks is None:  # None: refused permanently, the connector has failed
                    return
                run.tasks = tasks
                if self._changed(run, tasks):
                    yield from self._publish(run, tasks.configs)
                return
            except Exception as error:
                self.output.log(
                    "ERROR",
                    f"The tasks of connector {run.name} could not be configured; retrying in {backoff} ms: "
                    f"{_described(error)}",
                )
            try:
                yield Until(lambda: not self._is_running(run), backoff, "")
            except TimeoutError:
                backoff = min(2 * backoff, LAST_BACKOFF_MS)

    def _is_running(self, run: ConnectorRun) -> bool:
        return (
            self.work.connectors.get(run.name) is run
            and run.phase is Phase.RUNNING
            and self.state.target_state(run.name) == STARTED
        )

    def _changed(self, run: ConnectorRun, tasks: actions.GeneratedTasks) -> bool:
        connector = self.state.connectors[run.name]
        if connector.inconsistent or connector.task_configs != tasks.configs or connector.applied_config != run.config:
            return True
        position, resolved = self._applied.get(run.name, (-1, b""))
        if position != connector.tasks_position:
            self._applied[run.name] = (connector.tasks_position, tasks.resolved)
            return False
        if resolved == tasks.resolved:
            return False
        self.output.log(
            "INFO", f"Config providers have other values for connector {run.name}; its tasks are started again"
        )
        return True

    def _publish(self, run: ConnectorRun, tasks: list[dict[str, str]]) -> Flow:
        def write_unless_outdated() -> Flow:
            yield from self.leadership.as_leader()
            if self._is_running(run):
                yield from self.write(run.name, tasks)

        yield from self.leadership.known()
        if self.leadership.membership.is_leader:
            yield from self.leadership.changes.through(write_unless_outdated())
        else:
            yield self.keys.call_leader("POST", ("connectors", run.name, "tasks"), tasks)

    # -- the leader

    def empty_stopped(self) -> None:
        """Take back tasks that an earlier leader wrote for a stopped connector; called on the leader."""
        for name, connector in self.state.connectors.items():
            if connector.task_configs and self.state.target_state(name) == STOPPED:
                flow = self.leadership.changes.through(self._empty(name))
                self.output.start(flow, what=f"Taking back the tasks of {name}")

    def _empty(self, name: str) -> Flow:
        is_stopped = self.state.target_state(name) == STOPPED
        if self.leadership.membership.is_leader and self.state.tasks(name) and is_stopped:
            yield from self.write(name, [])

    def write(self, name: str, tasks: list[dict[str, str]]) -> Flow:
        """Write and commit, as leader, a connector's task configurations. Raises Refused for a stopped connector."""
        if tasks and self.state.target_state(name) == STOPPED:
            raise Refused(400, f"Cannot submit non-empty set of task configs for stopped connector {name}")
        problem = task_configs_problem(tasks, self.leadership.settings.max_record_bytes)
        if problem is not None:
            raise Refused(400, f"The tasks of connector {shortened(name)} can't be stored: {problem}")
        records: list[ConfigTopicRecord] = [TaskConfig(TaskId(name, i), config) for i, config in enumerate(tasks)]
        yield from self.leadership.append(*records, TasksCommit(name, len(tasks)))


def _tasks_max(config: dict[str, str]) -> int:
    try:
        return int(parse_type(TASKS_MAX, value_of(config, TASKS_MAX), ConfigType.INT))
    except ConfigError:
        return 1


def _described(error: BaseException) -> str:
    """Return the message of an error, with the place in the code for errors whose messages are not meant for users."""
    if isinstance(error, ConnectError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"
