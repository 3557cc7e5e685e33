"""``penstock doctor``: what of a Java Connect cluster works here, and what does not."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.commands import _rest
from penstock.commands._output import As, OutputFormat, printed, say, say_lines

if TYPE_CHECKING:
    from penstock.doctor.findings import DoctorReport, Section

app = typer.Typer()


@app.command()
def doctor(
    properties: Annotated[Path, typer.Argument(help="Properties file of a worker of Java Connect.")],
    connectors: Annotated[
        list[Path] | None, typer.Argument(help="Files with configurations of connectors, or folders of them.")
    ] = None,
    url: Annotated[str | None, typer.Option(help="URL of a running worker of Java Connect.")] = None,
    user: _rest.User = None,
    standalone: Annotated[bool, typer.Option("--standalone", help="The file is that of a standalone worker.")] = False,
    all: Annotated[bool, typer.Option("--all", help="Show what works as well.")] = False,
    output: As = OutputFormat.TABLE,
) -> None:
    """Check a Java Connect worker's file, its connectors and jars, for what works here, differs or is refused.

    Connectors are read from the given files, from the config topic if the file's brokers answer, and from the running
    cluster. Nothing is written. Exit status 1 if something is refused or needs a jar.
    """
    from penstock.doctor.examination import examine

    with contextlib.ExitStack() as stack:
        java = None if url is None else stack.enter_context(_rest.client(url, user))
        report = examine(properties, connectors or (), java, standalone, _progress())
    sections = [each.to_json() for each in report.sections]
    if not printed(output, sections, [each.title for each in report.sections if each.verdict.blocks]):
        for section in report.sections:
            say_lines([*_text(section, all), ""])
        say(_summary(report))
    if report.blocks:
        raise typer.Exit(1)


def _progress() -> Callable[[str], None]:
    """Return a function that shows sentences on standard error, not more often than each second."""
    last = -math.inf

    def show(sentence: str) -> None:
        nonlocal last
        if time.monotonic() - last >= 1:
            last = time.monotonic()
            typer.echo(sentence, err=True)

    return show


def _text(section: Section, all: bool) -> list[str]:
    shown = [each for each in section.findings if all or each.verdict.value != "works"]
    judged = f": {section.verdict.value}" if section.findings else ""
    lines = [f"{section.title}{judged}", *(f"  {fact}" for fact in section.facts)]
    for each in shown:
        says = f": {each.says}" if each.says else ""
        lines.append(f"  {each.verdict.value:17}  {each.subject}{says}")
    if left := len(section.findings) - len(shown):
        lines.append(f"  {left} more work as in Java" if shown else f"  {left} work as in Java")
    return lines


def _summary(report: DoctorReport) -> str:
    blocked = [each.title for each in report.sections if each.verdict.blocks]
    said = f"Not as it is: {', '.join(blocked)}." if blocked else "All of it runs here."
    if report.unchecked:
        said = said if blocked else "All that was checked runs here."
        said += f" Not checked, or not all of it: {', '.join(report.unchecked)}."
    return said
