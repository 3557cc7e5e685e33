"""``penstock skip``: let a sink leave out records that it fails for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.commands._output import As, OutputFormat, print_table, printed, say
from penstock.commands._rest import URL, Name, Url, User, client, complain

if TYPE_CHECKING:
    from penstock.http.client import Client

app = typer.Typer()

LOOK_S = 0.5


@app.command()
def skip(
    connector: Name,
    topic: Annotated[
        str | None, typer.Option("--topic", help="Topic of the records, as the task's trace names it.")
    ] = None,
    partition: Annotated[int | None, typer.Option("--partition", min=0, help="Partition of the records.")] = None,
    offset: Annotated[
        list[str] | None, typer.Option("--offset", help="Offset, or a range such as 10-12. May be repeated.")
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to", help="`dead-letters`, the default where the connector has a queue for them, or `discard`."
        ),
    ] = None,
    restart: Annotated[
        bool, typer.Option("--restart/--no-restart", help="Restart the tasks, which learn of skips when they start.")
    ] = True,
    wait: Annotated[
        float,
        typer.Option("--wait", min=0, help="Seconds to wait until the connector is past the records; 0 for none."),
    ] = 120.0,
    cancel: Annotated[bool, typer.Option("--cancel", help="Forget skips that have not taken effect.")] = False,
    url: Url = URL,
    user: User = None,
    output: As = OutputFormat.TABLE,
) -> None:
    """Let a sink leave out exactly these records; without an offset, list those that it has not passed yet.

    Waits until the connector has committed offsets beyond them; exit status 1 if a task fails or it takes too long.
    """
    with client(url, user) as worker:
        if cancel:
            if topic is not None or partition is not None or offset:
                raise typer.BadParameter("--cancel forgets all skips of the connector; it takes no record.")
            worker.cancel_skips(connector)
            say(
                f"Connector {connector} has no more records to skip. Tasks that know of some still leave them out "
                "until they are restarted."
            )
            return
        if topic is None and partition is None and not offset:
            _list(worker, connector, output)
            return
        if topic is None or partition is None or not offset:
            raise typer.BadParameter("A record is named by --topic, --partition and --offset.")
        asked: dict[str, Any] = {"topic": topic, "partition": partition, "offsets": offset, "restart": restart}
        stored = worker.skip(connector, asked if to is None else {**asked, "to": to})
        for each in stored["skips"]:
            discarded = each["to"] == "discard"
            what = f"discards {_it([each])}" if discarded else f"sends {_it([each])} to its dead letter queue"
            say(f"Connector {connector} skips {_named(each)} and {what}.")
        if not restart:
            say(f"Its tasks leave them out once they are restarted: penstock restart {connector} --include-tasks")
        elif wait and not _passed(worker, connector, stored["skips"], wait):
            raise typer.Exit(1)


def _list(worker: Client, connector: str, output: OutputFormat) -> None:
    skips = worker.skips(connector)
    if printed(output, skips, [f"{each['topic']}-{each['partition']}-{_offsets(each)}" for each in skips]):
        return
    if not skips:
        say(f"Connector {connector} skips no records.")
        return
    rows = [(each["topic"], each["partition"], _offsets(each), each["to"]) for each in skips]
    print_table(("TOPIC", "PARTITION", "OFFSETS", "TO"), rows)


def _offsets(skip: dict[str, Any]) -> str:
    return str(skip["first"]) if skip["first"] == skip["last"] else f"{skip['first']}-{skip['last']}"


def _it(skips: list[dict[str, Any]]) -> str:
    return "it" if len(skips) == 1 and skips[0]["first"] == skips[0]["last"] else "them"


def _named(skip: dict[str, Any]) -> str:
    return f"{skip['topic']}-{skip['partition']} at offset{'s' * (skip['first'] != skip['last'])} {_offsets(skip)}"


def _pending(worker: Client, connector: str, skips: list[dict[str, Any]]) -> list[dict[str, Any]]:
    known = worker.skips(connector)
    return [each for each in skips if each in known]


def _passed(worker: Client, connector: str, skips: list[dict[str, Any]], wait: float) -> bool:
    """Wait until the connector is past these records; say what has become of them."""
    from penstock.declarative.outcome import await_restarts

    began = time.monotonic()
    left = skips
    while left := _pending(worker, connector, left):
        if worker.status(connector)["connector"]["state"] in ("PAUSED", "STOPPED"):
            say(f"Connector {connector} is not running: the skip takes effect when it is resumed.")
            return True
        for _, well, sentence in await_restarts(worker, [connector], max(began + wait - time.monotonic(), 0.0)):
            if well is False and _pending(worker, connector, left):
                complain(f"The records have not been skipped: {sentence}.")
                return False
        if time.monotonic() - began >= wait:
            named = ", ".join(map(_named, left))
            complain(f"After {wait:g} s the connector is not past {named} yet. The skip stays until it is.")
            return False
        time.sleep(LOOK_S)
    say(f"Connector {connector} is past {_it(skips)}.")
    for _, well, sentence in await_restarts(worker, [connector], max(began + wait - time.monotonic(), 0.0)):
        sentence = f"{sentence[:1].upper()}{sentence[1:]}."
        say(sentence) if well is not False else complain(sentence)
        return well is not False
    return True
