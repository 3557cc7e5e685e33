"""``penstock new``: the package of a new connector, transform or converter."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from penstock.commands._output import say

app = typer.Typer()


class TemplateKind(enum.StrEnum):
    SOURCE = "source"
    SINK = "sink"
    TRANSFORM = "transform"
    CONVERTER = "converter"


@app.command()
def new(
    kind: Annotated[TemplateKind, typer.Argument(help="What to make.")],
    name: Annotated[str, typer.Argument(help="Its name, such as `weather-source`.")],
    folder: Annotated[Path, typer.Option("--in", help="The folder to make it in.")] = Path(),
) -> None:
    """Make a package with a plugin that works, its settings, its tests and its documentation, to start from."""
    from penstock.scaffold.package import NewPlugin

    made = NewPlugin.of(kind.value, name).write(folder)
    say(f"Made {made}. Try it: `penstock run {made}`; README.md says how to test it, and how a worker finds it.")
