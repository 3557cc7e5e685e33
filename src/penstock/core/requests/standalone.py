"""What the answers of a standalone worker wait for: there, a change has come about when it is answered.

Java: StandaloneHerder, which does what it is asked before it answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.model.flow import Flow, Until
from penstock.core.model.messages import Refused
from penstock.core.work import Phase

if TYPE_CHECKING:
    from penstock.core.herder import Herder


def until_made(herder: Herder, name: str) -> Flow:
    """Go on when the connector runs, or rests, as it is configured now, and its tasks have been made.

    Refused with 500 and the reason if it could not be started.
    """

    def made() -> bool:
        known, run = herder.state.connectors.get(name), herder.work.connectors.get(name)
        if known is None or run is None or run.config is not known.config:
            return known is None
        match run.phase:
            case Phase.RUNNING:
                return run.tasks is not None and not run.reconfiguring
            case Phase.PAUSED | Phase.FAILED:
                return True
        return False

    yield Until(made, herder.settings.request_timeout_ms, f"The start of connector {name} is not over yet.")
    run = herder.work.connectors.get(name)
    if run is not None and run.phase is Phase.FAILED:
        reason = "" if run.told is None else (run.told.trace or "").partition("\n")[0]
        raise Refused(500, reason.partition(": ")[2] or f"Failed to start connector: {name}")
