"""Options and messages of the commands for servers on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Protocol

import typer

from penstock.commands._output import say

Home = Annotated[Path | None, typer.Option("--home", help="Penstock's cache folder, instead of $PENSTOCK_HOME.")]


class LocalServer(Protocol):
    """A server that runs."""

    @property
    def pid(self) -> int: ...


def directory_of(home: Path | None, data: Path | None, default: Callable[[], Path]) -> Path:
    """The folder that the options name."""
    if home is not None:
        os.environ["PENSTOCK_HOME"] = str(home.absolute())
    return data.absolute() if data else default()


def say_running(title: str, address: str, running: LocalServer, directory: Path) -> None:
    say(f"{title} runs on {address} (process {running.pid}, data and log in {directory}).")


def say_stopped(what: str, address: str | None, directory: Path) -> None:
    """``address``: where it ran; None if it did not."""
    say(f"Stopped the {what} on {address}." if address else f"No {what} runs from {directory}.")


def exit_if_none(what: str, running: LocalServer | None, directory: Path) -> None:
    """Exit status 3 if there is none."""
    if running is None:
        say(f"No {what} runs from {directory}.")
        raise typer.Exit(3)
