"""``penstock status``: show the state of connectors and tasks."""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.commands._attention import attention, print_attention
from penstock.commands._output import INTERRUPTED, As, OutputFormat, print_table, printed, say
from penstock.commands._rest import URL, Chosen, Select, States, Url, User, client, complete_connector
from penstock.pipeline.metrics import STAGES

if TYPE_CHECKING:
    from penstock.http.client import Client

app = typer.Typer()

FIGURES = {
    "RECORDS": "records",
    "PER SECOND": "records_per_second",
    "BEHIND": "records_behind",
    "SECONDS BEHIND": "seconds_behind",
    "NEWEST RECORD'S AGE": "newest_record_age_seconds",
    "RESTARTS": "restarts",
}
"""Figures of a task's health."""

EVERY_S = 2.0
"""Seconds between two looks of ``--watch``."""

Connector = Annotated[
    str | None,
    typer.Argument(metavar="[CONNECTOR]", help="A name or a pattern.", autocompletion=complete_connector),
]


@app.command()
def status(
    connector: Connector = None,
    selector: Select = None,
    state: States = None,
    url: Url = URL,
    user: User = None,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help=f"Show it again every {EVERY_S:g} seconds, until Ctrl-C.")
    ] = False,
    output: As = OutputFormat.TABLE,
) -> None:
    """Show what needs attention and the state of all connectors, what is wrong first; or the state of those chosen, or
    of one and its tasks (`penstock logs` shows why something has failed).
    """
    if not watch:
        with client(url, user) as worker:
            _show(worker, connector, selector, state, output)
        return
    from penstock.http.client_errors import ClientError

    if output is not OutputFormat.TABLE:
        raise typer.BadParameter("--watch shows tables; for documents, call the command again and again.")
    try:
        with client(url, user) as worker:
            while True:
                _begin_again(url)
                try:
                    _show(worker, connector, selector, state, output)
                except ClientError as error:  # the worker may be started again
                    say(f"penstock: {error}", flush=True)
                time.sleep(EVERY_S)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def _begin_again(url: str) -> None:
    """Clear a terminal; in a file or pipe, leave a line."""
    if sys.stdout.isatty():
        print("\033[H\033[2J\033[3J", end="")
    else:
        say()
    say(f"{url} at {time.strftime('%H:%M:%S')}", flush=True)


def _show(
    worker: Client,
    connector: str | None,
    selector: str | None,
    state: list[str] | None,
    output: OutputFormat,
) -> None:
    from penstock.core.bulk.selection import is_pattern

    one, names = connector is not None and not (selector or state or is_pattern(connector)), list[str]()
    rows: list[dict[str, Any]] = []
    if one:
        found = worker.status(connector or "", penstock=True)
    elif connector or selector or state:
        names = Chosen([connector] if connector else None, selector, state, changes=False).of(worker)
        shown = worker.expanded("status", penstock=True)
        found = {name: shown[name]["status"] for name in names if name in shown}
    else:
        found = {name: shown["status"] for name, shown in worker.expanded("status", penstock=True).items()}
        names = worker.connectors()
        rows = attention(worker) if output is OutputFormat.TABLE else []
    if printed(output, found, [connector] if one else [*found, *sorted(set(names) - found.keys())]):
        return
    if one:
        _print_one(found)
    else:
        print_attention(rows)
        if found:
            table = [_row(shown) for _, shown in sorted(found.items(), key=_trouble)]
            print_table(("NAME", "TYPE", "STATE", "WORKER", "TASKS", "BEHIND"), table)
        for name in sorted(set(names) - found.keys()):  # it has just been created
            say(f"Connector {name} has no status yet.")
        if not (found or names or connector or selector or state):
            say("There are no connectors.")


def _row(shown: dict[str, Any]) -> tuple[str, ...]:
    states = Counter(_states(shown).values())
    states["retrying"] += _retrying(shown)
    tasks = ", ".join(f"{count} {state}" for state, count in sorted(states.items()) if count) or "none"
    return shown["name"], shown["type"], _overall(shown), shown["connector"]["worker_id"], tasks, _behind(shown)


def _overall(shown: dict[str, Any]) -> str:
    from penstock.core.model.urgency import most_urgent

    return most_urgent(part["state"] for part in (shown["connector"], *shown["tasks"]))


def _states(shown: dict[str, Any]) -> dict[int, str]:
    """The tasks' states, or ``stalled``."""
    stalled = {task["id"] for task in _figures(shown) if task.get("stalled")}
    return {task["id"]: "stalled" if task["id"] in stalled else task["state"].lower() for task in shown["tasks"]}


def _retrying(shown: dict[str, Any]) -> int:
    """The number of tasks that retry: a sink's says so in its figures, a query's in its trace."""
    states = _states(shown)
    retrying = {task["id"] for task in _figures(shown) if task.get("retrying")}
    retrying |= {task["id"] for task in shown["tasks"] if task.get("trace") and states[task["id"]] == "running"}
    return len(retrying)


def _figures(shown: dict[str, Any]) -> list[dict[str, Any]]:
    return shown.get("penstock", {}).get("tasks", [])


def _behind(shown: dict[str, Any]) -> str:
    """In records if that is known of any task, else the seconds of the one that is furthest behind."""
    records = [task["records_behind"] for task in _figures(shown) if task.get("records_behind") is not None]
    seconds = [task["seconds_behind"] for task in _figures(shown) if task.get("seconds_behind") is not None]
    return str(sum(records)) if records else f"{max(seconds):.0f} s" if seconds else ""


def _trouble(named: tuple[str, dict[str, Any]]) -> tuple[float, str]:
    """Sort key of connectors: failed first, then stalled or retrying, then by state; by name."""
    from penstock.core.model.urgency import URGENCY

    name, shown = named
    place = URGENCY.index(_overall(shown))
    troubled = _retrying(shown) or "stalled" in _states(shown).values()
    return min(place, 0.5) if troubled else place, name


def _print_health(tasks: list[dict[str, Any]]) -> None:
    """The health of tasks, which workers of Penstock report and Java's don't."""
    reported = [task for task in tasks if task.get("records") is not None or task.get("last_error") is not None]
    if not reported:
        return
    say()
    rows = [(t["id"], *(_number(t.get(name)) for name in FIGURES.values()), _error(t)) for t in reported]
    print_table(("TASK", *FIGURES, "LAST ERROR"), rows)
    _print_stages([task for task in reported if task.get("slowest_stage")])
    _print_places(reported)


def _print_stages(tasks: list[dict[str, Any]]) -> None:
    """In which stages tasks spend their time."""
    stages = [stage for stage in STAGES if any(stage in task["stages"] for task in tasks)]
    if stages:
        say()
        rows = [(t["id"], *(_percent(t["stages"].get(stage)) for stage in stages), t["slowest_stage"]) for t in tasks]
        print_table(("TASK", *map(str.upper, stages), "SLOWEST"), rows)


def _print_places(tasks: list[dict[str, Any]]) -> None:
    """Print each task's position in the partition in which it is furthest behind."""
    read = [(task["id"], [p for p in task.get("places", ()) if p["direction"] == "from"]) for task in tasks]
    rows = []
    for id, places in read:
        if places:
            slowest, number = places[0], len(places)
            where = f"{slowest['topic']}-{slowest['partition']}" if "topic" in slowest else slowest["source"]
            figures = (slowest["position"], slowest["end"], slowest["behind"], slowest["per_second"])
            unit = slowest["unit"]
            rows.append((id, where + f" (of {number})" * (number > 1), *map(_number, figures), unit))
    if rows:
        say()
        print_table(("TASK", "FURTHEST BEHIND", "POSITION", "END", "BEHIND", "PER SECOND", "UNIT"), rows)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)


def _percent(share: float | None) -> str:
    return "" if share is None else "<0.1%" if 0 < share < 0.0005 else f"{share:.1%}"


def _print_restarts(health: dict[str, Any]) -> None:
    """Print the restarts that the restart policy has made or will make; nothing if all tasks are healthy."""
    parts = [("connector", health.get("connector", {})), *((f"task {t['id']}", t) for t in health.get("tasks", []))]
    for name, part in parts:
        policy = part.get("restart_policy")
        if policy is None or not (policy["restarts"] or policy["reason"]):
            continue
        due = policy["next_restart"]
        when = "" if due is None else f"; the next follows at {due[:19]}Z"
        reason = "" if policy["reason"] is None else f" ({policy['reason']})"
        say(f"Restart policy: {name} was restarted {policy['restarts']} times in a row{when}{reason}.")


def _error(task: dict[str, Any]) -> str:
    error = task["last_error"]
    return "" if error is None else f"{error['time'][:19]}Z {'retrying: ' * task['retrying']}{error['message']}"


def _print_one(shown: dict[str, Any]) -> None:
    connector = shown["connector"]
    say(f"Connector {shown['name']} ({shown['type']}) is {connector['state']} on {connector['worker_id']}.")
    if "trace" in connector:
        say(f"  {connector['trace'].partition(chr(10))[0]}")
    if shown["tasks"]:
        rows = [(t["id"], t["state"], t["worker_id"], t.get("trace", "")) for t in shown["tasks"]]
        print_table(("TASK", "STATE", "WORKER", "TRACE"), rows)
        _print_health(shown.get("penstock", {}).get("tasks", []))
    else:
        say("It has no tasks.")
    _print_restarts(shown.get("penstock", {}))
