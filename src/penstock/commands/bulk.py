"""``penstock bulk``: one action on many connectors, with a preview, progress and causes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.commands._output import As, OutputFormat, confirm, print_table, printed, say
from penstock.commands._rest import URL, Names, Select, States, Url, User, client, complain
from penstock.commands.patch import Unset, Words, changes_of

if TYPE_CHECKING:
    from penstock.http.client import Client

app = typer.Typer(no_args_is_help=True, help="Take one action on many connectors: preview, progress, causes.")

LOOK_S = 0.5
Classes = Annotated[
    list[str] | None,
    typer.Option("--class", help="Only those of this class, or pattern of classes, with or without the package."),
]
Types = Annotated[list[str] | None, typer.Option("--type", help="Only those of this type: source or sink.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before the connectors shown are changed.")]
Wait = Annotated[
    float, typer.Option("--wait", min=0.001, max=3600, help="Seconds that each connector may take to reach its state.")
]


def _body(
    names: list[str] | None,
    selector: str | None,
    states: list[str] | None,
    classes: list[str] | None,
    types: list[str] | None,
    **more: Any,
) -> dict[str, Any]:
    given = {
        "connectors": names,
        "labels": selector,
        "states": [state.upper() for state in states or ()],
        "classes": classes,
        "types": types,
        **more,
    }
    found = {name: value for name, value in given.items() if value}
    if not found.keys() & {"connectors", "labels", "states", "classes", "types", "of"}:
        raise typer.BadParameter("Name connectors, or choose them by --selector, --state, --class or --type.")
    return found


def _verb(action: str, help: str) -> Callable[..., None]:
    def act(
        connectors: Names = None,
        selector: Select = None,
        state: States = None,
        classes: Classes = None,
        types: Types = None,
        dry_run: DryRun = False,
        yes: Yes = False,
        wait: Wait = 60.0,
        url: Url = URL,
        user: User = None,
    ) -> None:
        _run(action, _body(connectors, selector, state, classes, types), dry_run, yes, wait, url, user)

    return app.command(action, help=help)(act)


_verb("pause", "Pause connectors. Those that are paused or stopped stay as they are.")
_verb("stop", "Stop connectors: they have no tasks until they are resumed.")
_verb("delete", "Delete connectors. Source offsets are kept.")


@app.command()
def resume(
    connectors: Names = None,
    selector: Select = None,
    state: States = None,
    classes: Classes = None,
    types: Types = None,
    of: Annotated[
        str | None,
        typer.Option("--of", metavar="ID", help="Only those that this bulk action has paused or stopped."),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    wait: Wait = 60.0,
    url: Url = URL,
    user: User = None,
) -> None:
    """Resume connectors, or with --of exactly those that a bulk action has paused or stopped.

    Connectors that somebody has paused, stopped or resumed since are left as they are.
    """
    _run("resume", _body(connectors, selector, state, classes, types, of=of), dry_run, yes, wait, url, user)


@app.command()
def restart(
    connectors: Names = None,
    selector: Select = None,
    state: States = None,
    classes: Classes = None,
    types: Types = None,
    only_failed: Annotated[bool, typer.Option("--only-failed", help="Restart only what has failed.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    wait: Wait = 60.0,
    url: Url = URL,
    user: User = None,
) -> None:
    """Restart connectors with their tasks, or only what of them has failed."""
    body = _body(connectors, selector, state, classes, types, only_failed=only_failed)
    _run("restart", body, dry_run, yes, wait, url, user)


@app.command("set")
def set_(
    words: Words = None,
    unset: Unset = None,
    selector: Select = None,
    state: States = None,
    classes: Classes = None,
    types: Types = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    wait: Wait = 60.0,
    url: Url = URL,
    user: User = None,
) -> None:
    """Change settings of connectors; all others stay as they are."""
    names, settings = changes_of(words, unset)
    body = _body(names, selector, state, classes, types, settings=settings)
    _run("set", body, dry_run, yes, wait, url, user)


@app.command()
def show(
    id: Annotated[str, typer.Argument(metavar="ID", help="The ID that the action has printed.")],
    url: Url = URL,
    user: User = None,
    output: As = OutputFormat.TABLE,
) -> None:
    """Show the progress of a bulk action, or its results; its worker knows them until it ends."""
    with client(url, user) as worker:
        shown = worker.bulk_progress(id)
    if printed(output, shown, [row["connector"] for row in shown["connectors"]]):
        return
    _table(shown)


def _run(action: str, body: dict[str, Any], dry_run: bool, yes: bool, wait: float, url: str, user: str | None) -> None:
    """Show the preview, ask, begin, and report each connector as it ends.

    Only connectors of the preview are changed. Exit status 1 if one was refused, failed or took too long.
    """
    with client(url, user) as worker:
        preview = worker.bulk({"action": action, **body, "dry_run": True})
        rows = preview["connectors"]
        if not rows:
            complain("No connector matches that.")
            return
        _table(preview)
        chosen = [row["connector"] for row in rows if row["result"] == "change"]
        refused = any(row["result"] == "refused" for row in rows)
        if not dry_run and chosen:
            if not yes:
                confirm(f"{action.capitalize()} {_count(chosen)}?")
            more = {name: value for name, value in body.items() if name in ("of", "settings", "only_failed")}
            begun = worker.bulk({"action": action, "connectors": chosen, "exact": True, **more, "wait_seconds": wait})
            refused = not _follow(worker, begun, wait) or refused
    if refused:
        raise typer.Exit(1)


def _follow(worker: Client, shown: dict[str, Any], wait: float) -> bool:
    """Report the connectors as they end; return whether all went well."""
    say(f"Bulk action {shown['id']}: {shown['action']} {_count(shown['connectors'])}.", flush=True)
    well, told = True, set[str]()
    while True:
        for row in shown["connectors"]:
            if row["result"] in ("waiting", "under way") or row["connector"] in told:
                continue
            told.add(row["connector"])
            what = row["what"].rstrip(".")
            sentence = f"{row['connector']}: {row['result']}. {what}{_cause(row)}."
            if row["result"] in ("done", "none"):
                say(sentence, flush=True)
            else:
                complain(sentence)
                well = False
        if shown["ended"]:
            break
        time.sleep(LOOK_S)
        shown = worker.bulk_progress(shown["id"])
    if shown["action"] in ("pause", "stop"):
        say(f"To resume what it has changed: penstock bulk resume --of {shown['id']}")
    return well


def _table(shown: dict[str, Any]) -> None:
    rows = [
        (row["connector"], row["state"] or "", row["result"], f"{row['what']}{_cause(row)}")
        for row in shown["connectors"]
    ]
    print_table(("CONNECTOR", "STATE", "RESULT", "WHAT"), rows)


def _cause(row: dict[str, Any]) -> str:
    return f" ({row['cause']})" if row["cause"] else ""


def _count(connectors: list[Any]) -> str:
    return f"{len(connectors)} connector{'s' * (len(connectors) != 1)}"
