"""Clients' requests: which are answered from state at once, which by a flow, and how what goes wrong is answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.api.errors import ConfigError
from penstock.core import actions, changes, offsets, reads, restarting
from penstock.core import messages as m
from penstock.core.flow import Flow, Until
from penstock.core.records import ConnectorStatus, StatusTopicRecord, TaskStatus

if TYPE_CHECKING:
    from penstock.core.herder import Herder

NO_LEADER = "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."

FLOWS: dict[type[m.Request], Callable[[Herder, Any], Flow]] = {
    m.CreateConnector: changes.create,
    m.PutConfig: changes.put_config,
    m.PatchConfig: changes.patch_config,
    m.DeleteConnector: changes.delete,
    m.SetTargetState: changes.set_target_state,
    m.StopConnector: changes.stop,
    m.ResetTopics: changes.reset_topics,
    m.SetClusterLogger: changes.set_cluster_logger,
    m.PutTaskConfigs: changes.put_task_configs,
    m.FenceTasks: changes.fence_tasks,
    m.RestartConnector: restarting.restart_connector,
    m.RestartTask: restarting.restart_task,
    m.GetOffsets: offsets.read,
    m.AlterOffsets: offsets.alter,
    m.ResetOffsets: offsets.reset,
}


class ElsewhereError(Exception):
    """Raised in a flow: the worker at this URL must answer."""

    def __init__(self, url: str | None) -> None:
        self.url = url


def answer(herder: Herder, number: int, request: m.Request) -> None:
    """Answer a request now, or begin the flow that will. Every request is answered exactly once."""

    def done(reply: m.Reply | None, error: BaseException | None) -> None:
        match error:
            case None:
                herder.reply(number, reply or m.Reply(204))
            case m.Refused():
                herder.reply(number, error.reply())
            case ElsewhereError(url=url):
                herder.reply(number, m.Elsewhere(url))
            case ConfigError():  # a reference to a config provider that can't be followed, say
                herder.reply(number, m.Refused(400, str(error)).reply())
            case TimeoutError():
                herder.reply(number, m.Refused(500, f"Request timed out. {error}".rstrip()).reply())
            case _:
                herder.log("ERROR", f"A request ended in an error: {request!r}: {error!r}")
                herder.reply(number, m.Refused(500, str(error) or repr(error)).reply())

    if isinstance(request, m.ReadRequest) and (herder.has_read or isinstance(request, m.GetHealth)):
        try:
            done(reads.read(herder, request), None)
        except m.Refused as refused:
            done(None, refused)
    elif isinstance(request, m.ReadRequest):
        herder.start(_once_read(herder, request), done)
    else:
        herder.start(FLOWS[type(request)](herder, request), done)


def _once_read(herder: Herder, request: m.ReadRequest) -> Flow:
    yield Until(
        lambda: herder.has_read, herder.settings.request_timeout_ms, "The worker is reading its internal topics."
    )
    return reads.read(herder, request)


def as_leader(herder: Herder) -> Flow:
    """Go on if this worker leads; else the request is the leader's. A rebalance is waited for, up to a bound."""
    try:
        yield Until(herder.ready_to_lead, herder.settings.patience_ms, "")
    except TimeoutError:
        raise m.Refused(409, NO_LEADER) from None
    if not herder.is_leader:
        raise ElsewhereError(herder.leader_url)


def settled(herder: Herder) -> Flow:
    """Go on when the present assignment is known; 409 if a rebalance takes too long."""
    try:
        yield Until(lambda: herder.assignment is not None, herder.settings.patience_ms, "")
    except TimeoutError:
        raise m.Refused(
            409,
            "Cannot complete request momentarily due to stale configuration "
            "(typically caused by a concurrent config change)",
        ) from None


def known(herder: Herder, name: str, message: str = "Connector {} not found") -> dict[str, str]:
    """The connector's configuration; Refused with 404 and this message if there is no such connector."""
    connector = herder.state.connectors.get(name)
    if connector is None:
        raise m.Refused(404, message.format(name))
    return connector.config


def forget_gone(herder: Herder) -> None:
    """Write tombstones for what the status topic holds of connectors and tasks that the config topic does not know."""
    gone: list[StatusTopicRecord] = []
    connectors = herder.state.connectors
    for name, tasks in herder.statuses.tasks.items():
        count = len(connectors[name].task_configs) if name in connectors else 0
        gone += [TaskStatus(status.id, None) for number, status in tasks.items() if number >= count]
    gone += [ConnectorStatus(name, None) for name in herder.statuses.connectors if name not in connectors]
    for name in herder.statuses.topics.connectors():
        if name not in connectors:
            gone += herder.statuses.topics.tombstones(name)
    if gone:
        herder.emit(actions.AppendStatus(tuple(gone)))
