"""``penstock workers``: show the workers of the group."""

from __future__ import annotations

from collections import Counter
from typing import Any

import typer

from penstock.commands._output import As, OutputFormat, print_table, printed
from penstock.commands._rest import URL, Url, User, client, complain

app = typer.Typer()


@app.command()
def workers(url: Url = URL, user: User = None, output: As = OutputFormat.TABLE) -> None:
    """Show the workers of the group: who leads, what each runs, and its Spark applications."""
    with client(url, user) as worker:
        found = worker.workers()
        statuses = worker.expanded("status") if output is OutputFormat.TABLE else {}
    if printed(output, found, [each["worker_id"] for each in found["workers"]]):
        return
    runs = _runs(shown["status"] for shown in statuses.values())
    rows = [
        (
            each["worker_id"] + " (leader)" * (each["worker_id"] == found["leader"]),
            "" if each["generation"] is None else each["generation"],
            *(runs[each["worker_id"], what] for what in ("connectors", "tasks", "failed")),
            "; ".join(map(_application, each["spark"])),
        )
        for each in found["workers"]
    ]
    print_table(("WORKER", "GENERATION", "CONNECTORS", "TASKS", "FAILED", "SPARK"), rows)
    for silent in found["unreachable"]:
        complain(f"Worker {silent} has not answered.")


def _runs(statuses: Any) -> Counter[tuple[str, str]]:
    """Count the connectors and tasks that each worker runs, and those that have failed there."""
    found: Counter[tuple[str, str]] = Counter()
    for status in statuses:
        for what, instances in (("connectors", [status["connector"]]), ("tasks", status["tasks"])):
            for each in instances:
                found[each["worker_id"], what] += 1
                found[each["worker_id"], "failed"] += each["state"] == "FAILED"
    return found


def _application(spark: dict[str, Any]) -> str:
    running = "running" if spark["running"] else "not running"
    ended = "" if not spark["ended"] else ", ended once" if spark["ended"] == 1 else f", ended {spark['ended']} times"
    return f"{spark['application']}: {running}{ended}"
