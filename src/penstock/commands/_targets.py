"""Changes of target states: the request, then a wait until connectors and tasks are in the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.commands._output import say
from penstock.commands._rest import Chosen, complain, each

if TYPE_CHECKING:
    from penstock.http.client import Client

Wait = Annotated[
    float,
    typer.Option(
        "--wait", min=0, help="Seconds to wait until the connectors and their tasks are in that state; 0 does not wait."
    ),
]
WAIT = 60.0


def change(
    chosen: Chosen, url: str, user: str | None, act: Callable[[Client, str], None], state: str, said: str, wait: float
) -> None:
    """Send the request for every connector, and print what has become of it. ``said``: ``Paused``, for example.

    Ends with exit status 1 if a connector or task has failed, or is not in the state in time.
    """

    def outcome(worker: Client, names: list[str]) -> int:
        from penstock.declarative.outcome import await_target

        status = 0
        for name, well, sentence in await_target(worker, names, state, wait) if wait else ():
            if well is None:
                say(f"{sentence[:1].upper()}{sentence[1:]}.")
            elif well:
                say(f"{said} connector {name}{f', but {sentence}' if sentence else ''}.")
            else:
                complain(f"{sentence[:1].upper()}{sentence[1:]}.")
                status = 1
        return status

    def request(worker: Client, name: str) -> None:
        act(worker, name)

    each(chosen, url, user, request, "" if wait else "The worker has accepted the request for connector {}.", outcome)
