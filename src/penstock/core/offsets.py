"""Reading, altering and resetting a connector's offsets (KIP-875)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.exactly_once import fence
from penstock.core.group.catch_up import read_to_end
from penstock.core.group.leadership import as_leader
from penstock.core.model import actions
from penstock.core.model import messages as m
from penstock.core.model.flow import Flow, Until
from penstock.core.model.state import STOPPED
from penstock.core.requests import checks

if TYPE_CHECKING:
    from penstock.core.herder import Herder

Offsets = tuple[tuple[dict[str, object] | None, dict[str, object] | None], ...]


def read(herder: Herder, request: m.GetOffsets) -> Flow:
    config = checks.known(herder, request.name)
    offsets = yield actions.ReadOffsets(request.name, config)
    return m.Reply(200, {"offsets": offsets})


def alter(herder: Herder, request: m.AlterOffsets) -> Flow:
    return (yield from _write(herder, request.name, request.offsets))


def reset(herder: Herder, request: m.ResetOffsets) -> Flow:
    return (yield from _write(herder, request.name, None))


def _write(herder: Herder, name: str, offsets: Offsets | None) -> Flow:
    """With exactly once, tasks that may still be at work somewhere are fenced off first; else those here have ended."""
    yield from as_leader(herder)
    yield from read_to_end(herder, "modifying connector offsets")
    yield from checks.settled(herder)  # by then its tasks have been told to stop
    config = _stopped(herder, name)
    if herder.settings.exactly_once and herder.plugins.kind(config) == "source":
        yield from fence(herder, name)
    else:
        yield from _tasks_ended(herder, name)
    config = _stopped(herder, name)
    message = yield actions.WriteOffsets(name, config, offsets)
    return m.Reply(200, {"message": message})


def _tasks_ended(herder: Herder, name: str) -> Flow:
    """Until then they may commit offsets once more."""

    def ended() -> bool:
        return all(run.ended for id, run in herder.work.tasks.items() if id.connector == name)

    yield Until(ended, herder.settings.request_timeout_ms, f"The tasks of connector {name} have not ended yet.")


def _stopped(herder: Herder, name: str) -> dict[str, str]:
    config = checks.known(herder, name)
    if herder.state.target_state(name) != STOPPED or herder.state.tasks(name):
        raise m.Refused(
            400,
            "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the "
            f"specified connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint",
        )
    return config
