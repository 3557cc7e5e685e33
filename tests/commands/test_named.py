"""The commands that messages and pages name exist, with their options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import typer
from typer.core import TyperGroup

import penstock
from penstock import cli
from penstock.commands.topics import OrShow

ROOT = Path(__file__).parents[2]
SOURCE = Path(penstock.__file__).parent
FILES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *sorted(SOURCE.rglob("*.py"))]
COMMANDS = typer.main.get_command(cli.app)


def commands(text: str) -> Iterator[str]:
    """Yield the text after ``penstock`` in backquotes and in lines of examples, without comments."""
    for inline, line in re.findall(r"`penstock ([a-z][^`\n]*)`|^ {4,}(?:\$ )?penstock ([a-z].*)$", text, re.MULTILINE):
        yield inline or re.split(r"\s+#|\s+>", line)[0]


def problem(line: str) -> str | None:
    words = line.split()
    context = typer.Context(COMMANDS)
    command = COMMANDS.get_command(context, words[0])  # type: ignore[attr-defined]
    if command is None:
        return f"penstock {line}: no such command"
    if isinstance(command, TyperGroup) and not isinstance(command, OrShow) and len(words) > 1:
        command = command.get_command(context, words[1].partition("|")[0])
        if command is None:
            return f"penstock {line}: no such command"
    known = {name for option in command.params for name in option.opts} | {"--help"}
    return next(
        (f"penstock {line}: no {word}" for word in words if re.match("--[a-z]", word) and word not in known), None
    )


def test_they_exist() -> None:
    lines = [(file, line) for file in FILES for line in commands(file.read_text("utf-8"))]
    assert len(lines) > 100
    assert [(str(file), wrong) for file, line in lines if (wrong := problem(line))] == []


def test_missing_connectors_are_reported() -> None:
    text = (
        "see `penstock offsets {name}`\n    $ penstock kafka up --dta /tmp   # a folder\n    penstock status > file\n"
    )
    assert [problem(line) for line in commands(text)] == [
        "penstock offsets {name}: no such command",
        "penstock kafka up --dta /tmp: no --dta",
        None,
    ]
