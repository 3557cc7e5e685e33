"""``penstock offsets``: show, alter and reset the offsets of a connector (KIP-875)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.commands import get as shows
from penstock.commands._output import As, OutputFormat, print_table, printed, say
from penstock.commands._rest import URL, Name, Url, User, client

app = typer.Typer(no_args_is_help=True, help="Show, alter or reset the offsets of a connector.")
app.command("get")(shows.offsets)

_PLACE = re.compile(r"([A-Za-z0-9._-]+):([0-9]+)=([0-9]+)")


@app.command()
def alter(
    connector: Name,
    places: Annotated[
        list[str] | None, typer.Argument(metavar="TOPIC:PARTITION=OFFSET", help="For sink connectors.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", help='JSON as `get offsets -o json` prints it: {"offsets": […]}; - is stdin.'),
    ] = None,
    url: Url = URL,
    user: User = None,
) -> None:
    """Alter offsets of a stopped connector; those that are not given are kept."""
    if (file is None) == (not places):
        raise typer.BadParameter("Offsets are needed: either -f FILE, or for a sink connector TOPIC:PARTITION=OFFSET.")
    offsets = _read(file) if file is not None else [_place(text) for text in places or ()]
    with client(url, user) as worker:
        say(_sentence(connector, worker.alter_offsets(connector, offsets)))


@app.command()
def reset(
    connector: Name,
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="Of a sink: to the first offsets.")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="Of a sink: to the ends.")] = False,
    to_datetime: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Of a sink: to the first records at this time or later; UTC by default."),
    ] = None,
    topic: Annotated[
        list[str] | None, typer.Option(help="Only this topic; may be repeated. By default all that the sink reads.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be read again or skipped, and change nothing.")
    ] = False,
    output: As = OutputFormat.TABLE,
    url: Url = URL,
    user: User = None,
) -> None:
    """Reset the offsets of a stopped connector: it will start from the beginning, or a sink at the given offsets.

    The options are those of kafka-consumer-groups.
    """
    given = [*(["earliest"] * to_earliest), *(["latest"] * to_latest), *([to_datetime] if to_datetime else [])]
    if len(given) > 1:
        raise typer.BadParameter("Only one of --to-earliest, --to-latest and --to-datetime can be given.")
    if not given and (topic or dry_run):
        raise typer.BadParameter("--topic and --dry-run need one of --to-earliest, --to-latest and --to-datetime.")
    with client(url, user) as worker:
        if not given:
            say(_sentence(connector, worker.reset_offsets(connector)))
            return
        plan = worker.planned_offsets(connector, given[0], topic or ())
        _show(plan, output)
        if not dry_run and plan["offsets"]:
            offsets = [{"partition": each["partition"], "offset": each["offset"]} for each in plan["offsets"]]
            say(_sentence(connector, worker.alter_offsets(connector, offsets)))


def _show(plan: dict[str, Any], output: OutputFormat) -> None:
    places = [f"{each['partition']['kafka_topic']}-{each['partition']['kafka_partition']}" for each in plan["offsets"]]
    if printed(output, plan, places):
        return
    rows = [
        (
            place,
            "-" if each["committed"] is None else each["committed"],
            each["offset"]["kafka_offset"],
            each["again"],
            each["skipped"],
        )
        for place, each in zip(places, plan["offsets"], strict=True)
    ]
    print_table(("PARTITION", "COMMITTED", "NEW-OFFSET", "READ-AGAIN", "SKIPPED"), rows)
    say(f"{plan['again']:,} offsets are read again, {plan['skipped']:,} are skipped.")


def _sentence(connector: str, message: str) -> str:
    """The worker's own message, which says whether the connector confirmed the change."""
    return f"Connector {connector}: {message.rstrip('.')}."


def _place(text: str) -> dict[str, Any]:
    found = _PLACE.fullmatch(text)
    if found is None:
        raise typer.BadParameter(
            f"`{text}` is not an offset in a topic; give TOPIC:PARTITION=OFFSET, as in orders:0=42."
        )
    topic, partition, offset = found.groups()
    return {
        "partition": {"kafka_topic": topic, "kafka_partition": int(partition)},
        "offset": {"kafka_offset": int(offset)},
    }


def _read(file: Path) -> list[dict[str, Any]]:
    from penstock.files import read_file

    try:
        given = typer.get_text_stream("stdin").read() if str(file) == "-" else read_file(file, regular=False)
        document = json.loads(given)
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"The offsets in {file} can't be read: {error}") from error
    except RecursionError:
        raise typer.BadParameter(f"The offsets in {file} can't be read: they are nested too deeply") from None
    pairs = document.get("offsets") if isinstance(document, dict) else document
    if not isinstance(pairs, list) or not all(isinstance(pair, dict) for pair in pairs):
        raise typer.BadParameter(
            f'{file} has no offsets; give {{"offsets": [{{"partition": {{…}}, "offset": {{…}}}}, …]}}.'
        )
    return pairs
