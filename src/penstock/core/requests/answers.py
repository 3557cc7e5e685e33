"""Clients' requests: which are answered from state at once, which by a flow, and how what goes wrong is answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.api.errors import ConfigError
from penstock.core import offsets, restarting
from penstock.core.group.leadership import ElsewhereError
from penstock.core.model import messages as m
from penstock.core.model.flow import Flow, Until
from penstock.core.requests import changes, reads

if TYPE_CHECKING:
    from penstock.core.herder import Herder

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

    herder.start(_answered(herder, request), done)


def _answered(herder: Herder, request: m.Request) -> Flow:
    """Once the internal topics have been read: before, connectors seem not to exist."""
    if not isinstance(request, m.GetHealth):
        what = "The worker is reading its internal topics."
        yield Until(lambda: herder.has_read, herder.settings.request_timeout_ms, what)
    if isinstance(request, m.ReadRequest):
        return reads.read(herder, request)
    return (yield from FLOWS[type(request)](herder, request))
