"""``penstock records``: show records of the topics that a connector reads or has written to."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from penstock.commands._output import As, OutputFormat, print_table, printed, say
from penstock.commands._rest import URL, Name, Url, User, client

app = typer.Typer()


@app.command()
def records(
    connector: Name,
    topic: Annotated[str | None, typer.Option("--topic", help="Topic; without it, the only one.")] = None,
    partition: Annotated[int | None, typer.Option("--partition", min=0, help="Only records of this partition.")] = None,
    start: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="WHERE",
            help="`latest`: the last records; `earliest`; a time such as 2026-11-30T08:00:00Z; or offsets of "
            "partitions, as in 0:1200,1:1180.",
        ),
    ] = "latest",
    search: Annotated[
        str | None,
        typer.Option("--search", help="Only records whose key, value or headers have this text, in any case."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=500, help="Maximum number of records.")] = 20,
    seconds: Annotated[int, typer.Option("--seconds", min=1, max=30, help="Time limit of the search.")] = 10,
    url: Url = URL,
    user: User = None,
    output: As = OutputFormat.TABLE,
) -> None:
    """Show records of a topic that a sink reads or a source has written to, decoded by its converters.

    They are read with the settings of the connector's own clients; nothing is committed. Fields that its transforms
    mask are masked.
    """
    query = {"partition": partition, "start": start, "search": search, "limit": limit, "seconds": seconds}
    with client(url, user) as worker:
        found = worker.records(connector, topic=topic, **query)
    if printed(output, found, [_place(found, each) for each in found["records"]]):
        return
    if found["topic"] is None:
        _say_topics(found)
        return
    if found["records"]:
        rows = [(_place(found, each), _time(each["timestamp"]), _key(each), _value(each)) for each in found["records"]]
        print_table(("RECORD", "TIME", "KEY", "VALUE"), rows)
    else:
        say(
            f"No record{' with this text' if search else ''} was found in {found['scanned']} of topic {found['topic']}."
        )
    if found.get("hidden"):
        say(f"Masked whole, since masked fields may be there: {', '.join(found['hidden'])}, and what has no fields.")
    if found["next"] is not None:
        say(f"{found['scanned']} records were read; there are more: --from {found['next']}")


def _say_topics(found: dict[str, Any]) -> None:
    verb = "reads" if found["direction"] == "in" else "has written to"
    if found["topics"]:
        say(f"Connector {found['connector']} {verb} {', '.join(found['topics'])}: choose one with --topic.")
    else:
        say(f"No topic is known that connector {found['connector']} {verb}.")


def _place(found: dict[str, Any], record: dict[str, Any]) -> str:
    return f"{found['topic']}-{record['partition']}-{record['offset']}"


def _time(ms: int | None) -> str:
    return "" if ms is None else datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")[:23] + "Z"


def _key(record: dict[str, Any]) -> str:
    return "" if record["key"] is None else _shown(record["key"])


def _value(record: dict[str, Any]) -> str:
    errors = "".join(f"{each['stage']}: {each['message']}  " for each in record["errors"])
    return f"{errors}{_shown(record['value'])}"


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
