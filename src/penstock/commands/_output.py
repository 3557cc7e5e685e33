"""Output of commands: a table for people, JSON for programs.

Names and messages come from workers and plugins. Commands print them by the functions here alone, which escape what
would control the terminal, and keep each text on its line.
"""

from __future__ import annotations

import enum
import json
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer

from penstock.observe import many_lines, one_line, safe_json

INTERRUPTED = 130
"""Exit status after Ctrl-C, as of a shell."""


class OutputFormat(enum.StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


As = Annotated[
    OutputFormat,
    typer.Option("--output", "-o", help="Print a table for people, the worker's JSON, that as YAML, or only names."),
]


def say(text: str = "", *, flush: bool = False) -> None:
    """Print a text as one line."""
    print(one_line(text), flush=flush)


def say_lines(lines: Iterable[str]) -> None:
    """Print texts, each as one line."""
    for line in lines:
        say(line)


def say_indented(text: str, *, flush: bool = False) -> None:
    """Print a text of several lines, of which those after the first are indented."""
    print(many_lines(text), flush=flush)


def confirm(question: str) -> None:
    """Ask at the terminal whether to go on; ends the command unless the answer is yes.

    Raises BadParameter if nobody can answer.
    """
    try:
        agreed = typer.confirm(one_line(question), err=True)
    except typer.Abort:
        if sys.stdin.isatty():  # interrupted by the user
            raise
        typer.echo(err=True)
        raise typer.BadParameter("Nobody answers this question without a terminal: add --yes to agree.") from None
    if not agreed:
        raise typer.Abort


def print_json(value: Any) -> None:
    """With the characters themselves where the output's encoding has them all, else with JSON's escapes."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    if not _can_be_printed(text):
        text = json.dumps(value, indent=2)
    print(safe_json(text), flush=True)  # it may be one of many that a pipe's reader waits for


def print_yaml(value: Any) -> None:
    """Print a document that `---` begins, so that several may follow each other."""
    import yaml

    plain = json.loads(json.dumps(value))  # it refuses subclasses of str and int

    def dumped(readable: bool) -> str:
        return yaml.safe_dump(plain, sort_keys=False, allow_unicode=readable, explicit_start=True)

    text = dumped(True)
    safe = safe_json(text) == text and _can_be_printed(text)
    print(text if safe else dumped(False), end="", flush=True)


def printed(output: OutputFormat, document: Any, names: Iterable[object] | None = None) -> bool:
    """Print a document, or the names, as the user wants it; return False if a table is wanted.

    ``names`` is None for a document about nothing that has a name.
    """
    match output:
        case OutputFormat.TABLE:
            return False
        case OutputFormat.JSON:
            print_json(document)
        case OutputFormat.YAML:
            print_yaml(document)
        case OutputFormat.NAME:
            if names is None:
                raise typer.BadParameter("`-o name` can't be used here: what is shown has no names.")
            say_lines(map(str, names))
    return True


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print columns two blanks apart; of a cell with several lines only the first. Nothing is truncated."""
    cells = [[one_line(name) for name in header], *([_first_line(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _can_be_printed(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def compact(value: Any) -> str:
    """JSON in one line."""
    return safe_json(json.dumps(value, ensure_ascii=False))


def _first_line(cell: object) -> str:
    return one_line(str(cell).partition("\n")[0].rstrip("\r"))
