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


class OutputFormat(enum.StrEnum):
    TABLE = "table"
    JSON = "json"


As = Annotated[OutputFormat, typer.Option("--output", "-o", help="Print a table for people, or the worker's JSON.")]


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


def print_json(value: Any) -> None:
    """With the characters themselves where the output's encoding has them all, else with JSON's escapes."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2)
    print(safe_json(text), flush=True)  # it may be one of many that a pipe's reader waits for


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print columns two blanks apart; of a cell with several lines only the first. Nothing is truncated."""
    cells = [[one_line(name) for name in header], *([_first_line(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def compact(value: Any) -> str:
    """JSON in one line."""
    return safe_json(json.dumps(value, ensure_ascii=False))


def _first_line(cell: object) -> str:
    return one_line(str(cell).partition("\n")[0].rstrip("\r"))
