"""``penstock history``: show what happened to a connector."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from penstock.commands._output import As, OutputFormat, print_table, printed
from penstock.commands._rest import URL, Name, Url, User, client

app = typer.Typer()
MAX_REASON_LENGTH = 100


@app.command()
def history(
    connector: Name,
    version: Annotated[int | None, typer.Argument(help="Show the configuration of this version.", min=1)] = None,
    diff: Annotated[bool, typer.Option("--diff", help="Show what the version changed instead.")] = False,
    since: Annotated[
        int | None, typer.Option("--from", help="With --diff: compare with this version, not the one before.", min=1)
    ] = None,
    events: Annotated[bool, typer.Option("--events", help="Show states, restarts and topics instead.")] = False,
    url: Url = URL,
    user: User = None,
    output: As = OutputFormat.TABLE,
) -> None:
    """List the versions of a connector's configuration and target state, newest first (`penstock rollback` puts one
    into effect).
    """
    if diff and version is None:
        raise typer.BadParameter("--diff needs a version.")
    if since is not None and not diff:
        raise typer.BadParameter("--from needs --diff.")
    with client(url, user) as worker:
        if events:
            found = worker.events(connector)
        elif version is None:
            found = worker.history(connector)
        else:
            found = worker.version_difference(connector, version, since) if diff else worker.version(connector, version)
    if version is not None:
        printed(OutputFormat.JSON if output is OutputFormat.TABLE else output, found)
    elif printed(output, found, None if events else [each["version"] for each in found["versions"]]):
        pass
    elif events:
        happened = [(e["time"], _task(e), e["kind"], _what(e)) for e in found["events"]]
        print_table(("TIME", "TASK", "EVENT", "WHAT"), happened)
    else:
        rows = [(v["version"], v["time"], v["principal"] or "", v["state"], _summary(v)) for v in found["versions"]]
        print_table(("VERSION", "TIME", "BY", "STATE", "CHANGE"), rows)


def _task(event: dict[str, Any]) -> str:
    return str(event.get("task", ""))


def _what(event: dict[str, Any]) -> str:
    first = [event[name] for name in ("state", "topic", "principal") if name in event]
    if "worker" in event:
        first.append(f"on {event['worker']}")
    if event["kind"] == "skip":
        if event.get("cancelled"):
            first.append(f"partition {event['partition']} offset {event['first']} cancelled")
        else:
            offsets = event["first"] if event["first"] == event["last"] else f"{event['first']}-{event['last']}"
            first.append(f"partition {event['partition']} offsets {offsets} to {event['to']}")
    if event["kind"] == "rebalance":
        first.append(f"generation {event['generation']}")
    if "reason" in event:
        first.append(event["reason"].splitlines()[0][:MAX_REASON_LENGTH])
    return " ".join(first)


def _summary(version: dict[str, Any]) -> str:
    """Summarize the changes of a version in a line: `+added ~changed -removed`."""
    if version["change"] != "configuration":
        return str(version["change"])
    found = version["difference"]
    marks = (("+", "added"), ("~", "changed"), ("-", "removed"))
    return " ".join(f"{mark}{name}" for mark, kind in marks for name in found[kind])
