"""``penstock dlq``: list, show and replay the dead letters of a connector (KIP-298)."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.commands._kafka import Bootstrap, CommandConfig, client_settings, kafka_errors, reader
from penstock.commands._letter_page import at, page
from penstock.commands._output import INTERRUPTED, As, OutputFormat, print_table, printed, say, say_lines
from penstock.commands._rest import URL, Name, Url, User, client, complain

if TYPE_CHECKING:
    from confluent_kafka import Consumer

    from penstock.http.client import Client
    from penstock.kafka.letters.queue import Letter
    from penstock.kafka.letters.replay import Sent

app = typer.Typer(no_args_is_help=True, help="List, show or replay the dead letters of a connector.")

_PLACE = re.compile(r"(.+)-([0-9]+)-([0-9]+)")
PLACE = "TOPIC-PARTITION-OFFSET"
NOT_FOUND = 3
MAX_SHOWN = 20
"""Skipped records of which a replay says why."""


@dataclass(frozen=True, slots=True)
class Queue:
    """A connector's dead letter queue, and a consumer to read it with."""

    connector: str
    type: str
    config: dict[str, str]
    topic: str
    settings: dict[str, str]
    consumer: Consumer


@dataclass(slots=True)
class AskedTopics:
    """``ReplayTargets`` by the connector's configuration as the worker shows it. Which topics of a pattern, or of a
    reference to a config provider, are internal or not, the worker is asked.
    """

    worker: Client
    connector: str
    config: dict[str, str]
    topic: str | None
    """The topic of letters that do not name theirs."""
    _known: dict[str, bool] = field(default_factory=dict)

    def may_receive(self, topic: str, letter: Letter | None) -> bool:
        from penstock.core.config.sink import topics_of

        names, pattern = topics_of(self.config.get("topics")), self.config.get("topics.regex", "").strip()
        if not pattern and not any("${" in name for name in names):
            return topic in names
        if letter is None:
            return True  # each letter is asked for
        if topic not in self._known:
            self._known[topic] = self._ask(topic, letter)
        return self._known[topic]

    def _ask(self, topic: str, letter: Letter) -> bool:
        from penstock.http.client_errors import ResourceNotFoundError, WorkerError

        own = letter.error_header("topic") is not None
        try:
            planned = self.worker.planned_replay(self.connector, letter.position, None if own else self.topic)
        except ResourceNotFoundError:  # Java's worker
            return self._matches(topic)
        except WorkerError as error:
            if error.status == 400:
                return False
            raise
        return any(each["topic"] == topic for each in planned["replayed"])

    def _matches(self, topic: str) -> bool:
        from penstock.core.config.internal_topics import OF_KAFKA
        from penstock.java.regex import compile_regex

        pattern = self.config.get("topics.regex", "").strip()
        return bool(pattern) and topic not in OF_KAFKA and bool(compile_regex(pattern).fullmatch(topic))

    def __str__(self) -> str:
        key = "topics.regex" if self.config.get("topics.regex", "").strip() else "topics"
        return f"{key}={self.config.get(key, '')}"


@app.command("list")
def list_(
    connector: Name,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="Number of latest records to list.")] = 100,
    url: Url = URL,
    user: User = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    output: As = OutputFormat.TABLE,
) -> None:
    """Count the dead letters of a connector by their error, and list the latest."""
    from penstock.kafka.letters.notes import done_of, kept_notes
    from penstock.kafka.letters.queue import document, failure, letters

    reasons: Counter[tuple[str, str, str]] = Counter()
    last: deque[tuple[Letter, bool]] = deque(maxlen=limit)
    again = 0
    with _queue(connector, url, user, bootstrap, command_config) as queue:
        done = done_of(queue.consumer, queue.topic, partial(kept_notes, connector, queue.topic, queue.settings))
        for letter in letters(queue.consumer, queue.topic, dict.fromkeys(done, 0)):
            if letter.may_be_of(connector):
                sent = letter.offset in done[letter.partition]
                reasons[failure(letter)] += 1
                again += sent
                last.append((letter, sent))
    if output is not OutputFormat.TABLE:
        counted = [
            dict(zip(("stage", "exception", "class"), r, strict=True), count=n) for r, n in reasons.most_common()
        ]
        found = [document(letter, sent, whole=False) for letter, sent in last]
        count = reasons.total()
        shown = {"queue": queue.topic, "count": count, "replayed": again, "reasons": counted, "records": found}
        printed(output, shown, [letter.position for letter, _ in last])
        return
    say(f"Queue {queue.topic} has {_records(reasons.total())} of connector {connector}, {again} of them replayed.")
    if reasons:
        print_table(("COUNT", "STAGE", "EXCEPTION", "CLASS"), [(n, *r) for r, n in reasons.most_common()])
    if last:
        say()
        print_table(("RECORD", "CAME FROM", "TIME", "MESSAGE", ""), [_row(letter, sent) for letter, sent in last])


def _row(letter: Letter, sent: bool) -> tuple[str, ...]:
    origin = "-".join(letter.error_header(name) or "?" for name in ("topic", "partition", "offset"))
    if letter.error_header("topic") is None:
        origin = ""
    return (
        letter.position,
        origin,
        at(letter),
        letter.error_header("exception.message") or "",
        "replayed" if sent else "",
    )


@app.command()
def show(
    connector: Name,
    place: Annotated[str, typer.Argument(metavar=PLACE, help="As `dlq list` shows it.")],
    url: Url = URL,
    user: User = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    output: As = OutputFormat.TABLE,
) -> None:
    """Show one dead letter: its error, headers, key and value."""
    from penstock.kafka.letters.notes import done_of, kept_notes
    from penstock.kafka.letters.queue import document, letter_at

    with _queue(connector, url, user, bootstrap, command_config) as queue:
        partition, offset = _place(place, queue.topic)
        done = done_of(queue.consumer, queue.topic, partial(kept_notes, connector, queue.topic, queue.settings))
        letter = letter_at(queue.consumer, queue.topic, partition, offset)
    if letter is None:
        complain(f"There is no record at {place}.")
        raise typer.Exit(NOT_FOUND)
    sent = offset in done[partition]
    if not printed(output, document(letter, sent, whole=True), [letter.position]):
        say_lines(page(letter, sent))


@app.command()
def replay(
    connector: Name,
    places: Annotated[list[str] | None, typer.Argument(metavar=f"[{PLACE}]...", help="By default all.")] = None,
    topic: Annotated[
        str | None, typer.Option("--topic", help="Topic for records whose headers don't name one.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be sent.")] = False,
    url: Url = URL,
    user: User = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    output: As = OutputFormat.TABLE,
) -> None:
    """Send dead letters to the topics and partitions they came from, unchanged and each only once.

    All consumers of those topics receive them, not only this connector.
    """
    from penstock.kafka.letters.notes import keep_notes, kept_notes
    from penstock.kafka.letters.replay import Replay, replay_producer
    from penstock.kafka.letters.replay_targets import check_replay, only_topic

    with (
        _queue(connector, url, user, bootstrap, command_config) as queue,
        client(url, user) as worker,
    ):
        check_replay(connector, queue.type, queue.config)
        asked = {_place(place, queue.topic): place for place in places or ()}
        reads = AskedTopics(worker, connector, queue.config, topic)
        keep = partial(keep_notes, connector, queue.topic, queue.settings)
        kept = partial(kept_notes, connector, queue.topic, queue.settings)
        to = topic or only_topic(queue.config)
        wanted = Replay(queue.consumer, connector, queue.topic, reads, to, keep=keep, kept=kept)
        wanted.check_topic()
        interrupted = False
        if dry_run:
            sent = list(wanted.planned(wanted.done(), asked))
        else:
            sent, interrupted = _sent(wanted.send(partial(replay_producer, connector, queue.settings), asked))
    found = {(each.letter.partition, each.letter.offset) for each in sent}
    skipped = wanted.skipped
    if output is not OutputFormat.TABLE:
        shown = [{"record": s.letter.position, "topic": s.topic, "partition": s.partition} for s in sent]
        reasons = [{"record": record, "reason": why} for record, why in skipped.reasons.items()]
        counts = {"skipped": skipped.count, "skipped_records": reasons}
        replayed = {"queue": queue.topic, "dry_run": dry_run, "replayed": shown, **counts}
        printed(output, replayed, [each["record"] for each in shown])
    else:
        _print_sent(connector, sent, dry_run)
    if skipped.count:
        complain(f"Skipped {_records(skipped.count)}, which can't or may not be sent where the headers say:")
        for record, why in list(skipped.reasons.items())[:MAX_SHOWN]:
            complain(f"{record}: {why}.")
    if interrupted:
        complain("The replay was interrupted. Another one sends the rest.")
        raise typer.Exit(INTERRUPTED)
    missing = [place for key, place in asked.items() if key not in found and place not in skipped.reasons]
    for place in missing:
        complain(f"The record at {place} does not exist, is another connector's, or has been replayed already.")
    if missing or skipped.count:
        raise typer.Exit(1)


def _sent(sending: Iterator[Sent]) -> tuple[list[Sent], bool]:
    """Return the records that have been sent, and whether the user has interrupted that."""
    sent: list[Sent] = []
    try:
        sent.extend(sending)  # those before an error stay
    except KeyboardInterrupt:
        return sent, True
    return sent, False


def _print_sent(connector: str, sent: list[Any], dry_run: bool) -> None:
    if dry_run and sent:
        rows = [(s.letter.position, s.topic, "by its key" if s.partition is None else s.partition) for s in sent]
        print_table(("RECORD", "TO TOPIC", "PARTITION"), rows)
    topics = ", ".join(f"{count} to {topic}" for topic, count in sorted(Counter(s.topic for s in sent).items()))
    did = "Would replay" if dry_run else "Replayed"
    say(f"{did} {_records(len(sent))} of connector {connector}{': ' * bool(topics)}{topics}.")


def _records(count: int) -> str:
    return f"{count} record{'s' * (count != 1)}"


def _place(text: str, queue: str) -> tuple[int, int]:
    found = _PLACE.fullmatch(text)
    if found is None or found[1] != queue:
        raise typer.BadParameter(f"`{text}` is not a position in the queue; give {PLACE}, as in {queue}-0-42.")
    return int(found[2]), int(found[3])


@contextmanager
def _queue(connector: str, url: str, user: str | None, bootstrap: str | None, command_config: Any) -> Iterator[Queue]:
    from penstock.http.client_errors import ClientError
    from penstock.kafka.letters.queue import queue_setting

    with client(url, user) as worker:
        info, root = worker.connector(connector), worker.root()
    kind, config = info["type"], info["config"]
    setting = queue_setting(kind)
    topic = config.get(setting, "").strip()
    if not topic:
        raise ClientError(f"Connector {connector} has no dead letter queue: {setting} is not set.")
    settings = client_settings(bootstrap, command_config, config)
    with kafka_errors(), closing(reader(connector, settings)) as consumer:
        _check_cluster(consumer, root.get("kafka_cluster_id"), settings["bootstrap.servers"], config)
        yield Queue(connector, kind, config, topic, settings, consumer)


def _check_cluster(consumer: Consumer, wanted: str | None, at: str, config: dict[str, str]) -> None:
    """Check that it is the worker's Kafka cluster, unless the connector writes to another one."""
    from penstock.http.client_errors import ClientError

    found = consumer.list_topics(timeout=15).cluster_id
    if "producer.override.bootstrap.servers" not in config and wanted and found != wanted:
        raise ClientError(
            f"The brokers at {at} are of cluster {found}, but the worker's is {wanted}: set --bootstrap-server."
        )
