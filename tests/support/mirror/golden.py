"""Results of Java's mirror classes: ``connectors/mirror/golden/mirror.txt``, written by WriteMirror.java there."""

from __future__ import annotations

from pathlib import Path

_LINES = (Path(__file__).parents[2] / "connectors" / "mirror" / "golden" / "mirror.txt").read_text("utf-8").split("\n")


def golden(kind: str) -> list[list[str]]:
    """Return the fields of each line of this kind."""
    rows = [line.split("\t") for line in _LINES]
    return [row[1:] for row in rows if row[0] == kind]


def section(kind: str) -> list[list[list[str]]]:
    """Return the sections that begin with a line of this kind, as lists of lines."""
    found: list[list[list[str]]] = []
    for row in (line.split("\t") for line in _LINES if line):
        if row[0] == kind:
            found.append([])
        if found:
            found[-1].append(row)
    return found
