"""The commands of ``penstock`` with their subcommands, by the words that a user types after ``penstock``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from typer.core import TyperGroup


def find(root: Any, words: Sequence[str]) -> Any:
    """The command of these words; None if there is none. ``root`` is the context of ``penstock`` itself."""
    command = root.command
    for word in words:
        command = command.get_command(root, word) if isinstance(command, TyperGroup) else None
    return command


def names(root: Any) -> list[str]:
    """All of them, such as ``apply``, ``offsets`` and ``offsets reset``; imports the module of each."""
    return list(_names(root, root.command, ""))


def _names(root: Any, command: Any, before: str) -> Iterator[str]:
    if isinstance(command, TyperGroup):
        for word in command.list_commands(root):
            yield before + word
            yield from _names(root, command.get_command(root, word), f"{before}{word} ")
