"""The block of ``penstock status`` about what needs attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.commands._output import print_table, say

if TYPE_CHECKING:
    from penstock.http.client import Client


def attention(worker: Client) -> list[dict[str, Any]]:
    """Return what needs attention; nothing from a worker that does not know such a path, such as Java's."""
    from penstock.http.client_errors import WorkerError

    try:
        rows: list[dict[str, Any]] = worker.attention()["rows"]
    except WorkerError as error:
        if error.status != 404:
            raise
        return []
    return rows


def print_attention(rows: list[dict[str, Any]]) -> None:
    """Print the rows, and an empty line after them."""
    if rows:
        say("What needs attention:")
        heads = ("PROBLEM", "CONNECTOR", "TASKS", "SINCE", "WHY", "NEXT STEP")
        print_table(heads, [_row(row) for row in rows])
        say()


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    tasks, step = ", ".join(map(str, row["tasks"])), row["next"]
    where = row["connector"] or row["worker"] or ""
    return row["kind"], where, tasks, row["since"] or "not known", row["why"], step["command"] or step["text"]
