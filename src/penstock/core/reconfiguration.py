"""A connector's tasks, made from its configuration: asked of the connector, published where they have changed.

Happens whenever a connector has come to run and whenever it asks for it itself. The leader writes the task
configurations to the config topic; another worker hands them to the leader. Tried again for ever, at growing
intervals, as long as that very run of the connector goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.group.leader_duties import signing_key
from penstock.core.group.leadership import append, as_leader
from penstock.core.model import actions
from penstock.core.model.flow import Flow, Until
from penstock.core.model.messages import Refused
from penstock.core.model.records import ConfigTopicRecord, TaskConfig, TasksCommit
from penstock.core.model.state import STARTED, STOPPED
from penstock.core.model.tasks import TaskId
from penstock.core.work import ConnectorRun, Phase

if TYPE_CHECKING:
    from penstock.core.herder import Herder

FIRST_BACKOFF_MS = 250
LAST_BACKOFF_MS = 60_000


def request(herder: Herder, name: str) -> None:
    """Ask the connector that runs here for its tasks; once more afterwards if it is being asked already."""
    run = herder.work.connectors.get(name)
    if run is None:
        return
    if run.reconfiguring:
        run.reconfigure_again = True
        return
    run.reconfiguring = True

    def done(_: object, error: BaseException | None) -> None:
        run.reconfiguring = False
        if error is not None:
            herder.log("ERROR", f"The tasks of connector {name} could not be configured: {error}")
        if run.reconfigure_again:
            run.reconfigure_again = False
            request(herder, name)

    herder.start(_reconfigure(herder, run), done)


def committed(herder: Herder, name: str) -> None:
    """Called with every commit of tasks: what a connector wanted before, or elsewhere, may have come late."""
    run = herder.work.connectors.get(name)
    if run is not None and run.tasks is not None and herder.state.tasks(name):
        connector = herder.state.connectors[name]
        if connector.task_configs != run.tasks and not run.reconfiguring and _goes_on(herder, run):
            request(herder, name)


def _reconfigure(herder: Herder, run: ConnectorRun) -> Flow:
    backoff = FIRST_BACKOFF_MS
    while _goes_on(herder, run):
        config = run.config
        try:
            tasks = yield actions.MakeTaskConfigs(run.name, run.run, max(1, _tasks_max(config)))
            if not _goes_on(herder, run) or tasks is None:  # None: refused for good, the connector has failed
                return
            run.tasks = tasks
            if _changed(herder, run, tasks):
                yield from _publish(herder, run, tasks)
            return
        except Exception as error:
            herder.log(
                "ERROR", f"The tasks of connector {run.name} could not be configured; next try in {backoff} ms: {error}"
            )
        try:
            yield Until(lambda: not _goes_on(herder, run), backoff, "")
        except TimeoutError:
            backoff = min(2 * backoff, LAST_BACKOFF_MS)


def _goes_on(herder: Herder, run: ConnectorRun) -> bool:
    return (
        herder.work.connectors.get(run.name) is run
        and run.phase is Phase.RUNNING
        and herder.state.target_state(run.name) == STARTED
    )


def _tasks_max(config: dict[str, str]) -> int:
    try:
        return int(config.get("tasks.max", "1").strip())
    except ValueError:
        return 1


def _changed(herder: Herder, run: ConnectorRun, tasks: list[dict[str, str]]) -> bool:
    connector = herder.state.connectors[run.name]
    return connector.inconsistent or connector.task_configs != tasks or connector.applied_config != run.config


def _publish(herder: Herder, run: ConnectorRun, tasks: list[dict[str, str]]) -> Flow:
    def write_unless_outdated() -> Flow:
        yield from as_leader(herder)
        if _goes_on(herder, run):
            yield from write(herder, run.name, tasks)

    yield Until(herder.ready_to_lead, herder.settings.request_timeout_ms, "no leader is known")
    if herder.is_leader:
        yield from herder.changing.through(write_unless_outdated())
        return
    yield actions.CallLeader(
        "POST",
        herder.leader_url or "",
        ("connectors", run.name, "tasks"),
        tasks,
        signing_key(herder),
        herder.settings.signature_algorithm,
    )


def empty_stopped(herder: Herder) -> None:
    """Called on the leader: take back tasks that were written for a stopped connector by one that led before."""
    for name, connector in herder.state.connectors.items():
        if connector.task_configs and herder.state.target_state(name) == STOPPED:
            herder.start(herder.changing.through(_empty(herder, name)), what=f"Taking back the tasks of {name}")


def _empty(herder: Herder, name: str) -> Flow:
    if herder.is_leader and herder.state.tasks(name) and herder.state.target_state(name) == STOPPED:
        yield from write(herder, name, [])


def write(herder: Herder, name: str, tasks: list[dict[str, str]]) -> Flow:
    """As leader, write and commit a connector's task configurations. Raises Refused for a stopped connector."""
    if tasks and herder.state.target_state(name) == STOPPED:
        raise Refused(400, f"Cannot submit non-empty set of task configs for stopped connector {name}")
    records: list[ConfigTopicRecord] = [TaskConfig(TaskId(name, i), config) for i, config in enumerate(tasks)]
    yield from append(herder, *records, TasksCommit(name, len(tasks)))
