"""``penstock preview``: try a configuration on real records, without writing anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.commands._output import As, OutputFormat, printed, say
from penstock.commands._rest import URL, Url, User, client

if TYPE_CHECKING:
    from penstock.core.model.messages import CreateConnector
    from penstock.declarative.resources import Resource

app = typer.Typer()


@app.command()
def preview(
    file: Annotated[
        Path,
        typer.Argument(help="A connector's configuration, as a file of `penstock apply`.", exists=True, dir_okay=False),
    ],
    patch: Annotated[
        bool, typer.Option("--patch", help="The file has changes of the connector's present configuration only.")
    ] = False,
    connector: Annotated[
        str | None,
        typer.Option("--connector", help="Which connector, if the file has several or does not name it."),
    ] = None,
    var: Annotated[
        list[str] | None, typer.Option("--var", help="A value, `name=value`, for `{{ name }}` in the file.")
    ] = None,
    var_file: Annotated[list[Path] | None, typer.Option(help="YAML or JSON files of such names and values.")] = None,
    limit: Annotated[int, typer.Option("--limit", help="How many records to try.", min=1, max=100)] = 5,
    partition: Annotated[int | None, typer.Option("--partition", help="A sink: this partition only.", min=0)] = None,
    offset: Annotated[
        int | None, typer.Option("--offset", help="A sink: from this offset, not the last records.", min=0)
    ] = None,
    poll: Annotated[
        bool, typer.Option("--poll", help="Poll a source that does not say that this is harmless.")
    ] = False,
    url: Url = URL,
    user: User = None,
    output: As = OutputFormat.TABLE,
) -> None:
    """Show what a configuration would do to real records: after each transform, and what would be written.

    With --patch the file has only the settings that are to change; null, in JSON or YAML, removes one.
    """
    from penstock.declarative.resources import read_resources
    from penstock.declarative.variables import variables

    wanted = _chosen(read_resources([file], variables(var or [], var_file or []), connector), connector, file)
    given = "patch" if patch else "config"
    body: dict[str, Any] = {"name": wanted.name, given: wanted.config, "limit": limit, "poll": poll}
    body |= {} if partition is None else {"partition": partition}
    body |= {} if offset is None else {"offset": offset}
    with client(url, user) as worker:
        found = worker.preview(body)
    if not printed(output, found):
        _print(found)
    if found["error"] is not None or any(record["error"] is not None for record in found["records"]):
        raise typer.Exit(1)


def _chosen(resources: list[Resource], name: str | None, file: Path) -> CreateConnector:
    found = [each.wanted for each in resources if name in (None, each.name)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(sorted({each.name for each in resources})) or "none"
    raise typer.BadParameter(f"{file} must have one connector, or the one that --connector names; it has {names}.")


def _print(found: dict[str, Any]) -> None:
    if found["error"] is not None:
        say(f"It could not be tried, {_failed(found['error'])}")
    elif not found["records"]:
        say("There are no records to try it on.")
    for number, record in enumerate(found["records"], 1):
        say(f"Record {number}: {_text(record['before'])}")
        for step in record["steps"]:
            say(f"  {step['alias'] or step['stage'].lower()} ({step['class'].rpartition('.')[2]}): {_did(step)}")
        if record["error"] is not None:
            say(f"  fails, {_failed(record['error'])}")
        elif record["result"] is None:
            say("  is dropped")
        else:
            say(f"  result: {_text(record['result'])}{_sizes(record['result']['bytes'])}")


def _failed(error: dict[str, Any]) -> str:
    return f"stage {error['stage']}: {error['message']}"


def _did(step: dict[str, Any]) -> str:
    if "records" not in step:
        return "fails"
    skipped = "predicate not met; " if step.get("predicate") is False else ""
    if not step["records"]:
        return f"{skipped}no record"
    return f"{skipped}{_text(step['after'])}" if step.get("changed") else f"{skipped}unchanged"


def _sizes(known: dict[str, int | None]) -> str:
    """Return the sizes of the values that are bytes; a sink gets values."""
    sizes = [f"{part} {size} bytes" for part, size in known.items() if size is not None]
    return f" ({', '.join(sizes)})" if sizes else ""


def _text(record: dict[str, Any]) -> str:
    headers = f" headers={json.dumps(record['headers'], ensure_ascii=False)}" if record["headers"] else ""
    key = "" if record["key"] is None else f" key={json.dumps(record['key'], ensure_ascii=False)}"
    return f"{record['topic']}{key} value={json.dumps(record['value'], ensure_ascii=False)}{headers}"
