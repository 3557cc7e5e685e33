"""The dead letters of a connector, read and replayed with its own clients' settings, for ``/penstock/v1``.

Bounded, unlike ``penstock dlq``: the last records of each partition are read, and one request replays so many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, assert_never

from confluent_kafka import Consumer, KafkaException, TopicPartition

from penstock.core.config.internal_topics import InternalTopics
from penstock.core.config.overrides import CONSUMER, PRODUCER
from penstock.core.model import local_requests as local
from penstock.core.model import messages as m
from penstock.kafka.admin import NoAnswerError, sentence
from penstock.kafka.client_settings import connector_consumer, connector_producer
from penstock.kafka.letters.notes import Done, done_of, group_of, keep_notes, kept_notes
from penstock.kafka.letters.queue import Letter, document, failure, letter_at, letters, queue_setting
from penstock.kafka.letters.replay import AT_ONCE, MAX_REQUEST_BYTES, Replay, Sent, queue_consumer, replay_producer
from penstock.kafka.letters.replay_targets import ReadTopics, check_replay, only_topic

MAX_REPLAYED = 20 * AT_ONCE
"""Records that one request replays at most."""
PATIENCE_S = 15.0


DeadLetterRequest = local.ListDeadLetters | local.GetDeadLetter | local.ReplayDeadLetters


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """``config_of`` gives a connector's configuration with references resolved, and raises Refused (404); ``kind_of``
    its type. ``decoded`` shows what the connector's steps make of the record at a place of its queue. ``check`` raises
    ConnectError for overrides, of clients with these prefixes, that are not allowed.
    """

    worker: Mapping[str, str]
    config_of: Callable[[str], dict[str, str]]
    kind_of: Callable[[Mapping[str, str]], str]
    decoded: Callable[[Mapping[str, str], Letter], dict[str, Any]]
    check: Callable[[Mapping[str, str], Collection[str]], None]
    internal_topics: Callable[[], InternalTopics] = InternalTopics
    """Returns the topics that no connector may write to. May block."""

    def answer(self, request: DeadLetterRequest) -> dict[str, Any]:
        """Return the body of the reply. Blocks while Kafka is read. Raises Refused, ConnectError."""
        match request:
            case local.ListDeadLetters(name, limit):
                return self._list(name, limit)
            case local.GetDeadLetter(name, partition, offset, decoded):
                return self._get(name, partition, offset, decoded)
            case local.ReplayDeadLetters(name, records, topic, dry_run):
                return self._replay(name, records, topic, dry_run)
            case _:
                assert_never(request)

    def _list(self, name: str, limit: int) -> dict[str, Any]:
        config = self.config_of(name)
        setting = queue_setting(self._kind(config))
        found: dict[str, Any] = {
            "connector": name,
            "setting": setting,
            "queue": config.get(setting, "").strip() or None,
        }
        if found["queue"] is None:
            return {**found, "kept": 0, "reasons": [], "records": []}
        reasons: Counter[tuple[str, str, str]] = Counter()
        shown = []
        with self._reader(name, config) as consumer:
            done = done_of(consumer, found["queue"], self._kept(name, found["queue"], config))
            spans = {p: _span(consumer, found["queue"], p) for p in done}
            starts = {p: max(low, high - limit) for p, (low, high) in spans.items() if low < high}
            for letter in letters(consumer, found["queue"], starts):
                if letter.may_be_of(name):
                    reasons[failure(letter)] += 1
                    shown.append(document(letter, letter.offset in done[letter.partition], whole=False))
        shown.sort(key=lambda each: (each["timestamp"] or 0, each["record"]), reverse=True)
        counted = [
            dict(zip(("stage", "exception", "class"), r, strict=True), count=n) for r, n in reasons.most_common()
        ]
        kept = sum(high - low for low, high in spans.values())
        return {**found, "kept": kept, "reasons": counted, "records": shown[:limit]}

    def _get(self, name: str, partition: int, offset: int, decoded: bool) -> dict[str, Any]:
        config = self.config_of(name)
        queue = self._queue(name, config)
        with self._reader(name, config) as consumer:
            letter = letter_at(consumer, queue, partition, offset)
            if letter is None or not letter.may_be_of(name):
                raise m.Refused(404, f"There is no dead letter of connector {name} at {queue}-{partition}-{offset}")
            sent = offset in done_of(consumer, queue, self._kept(name, queue, config))[partition]
        found = document(letter, sent, whole=True)
        if decoded and self._kind(config) == "sink":
            found["decoded"] = self.decoded(config, letter)
        return found

    def _replay(self, name: str, records: tuple[str, ...], topic: str | None, dry_run: bool) -> dict[str, Any]:
        config = self.config_of(name)
        queue = self._queue(name, config)
        check_replay(name, self._kind(config), config)
        places = {_place(record, queue): record for record in records}
        with self._reader(name, config) as consumer:
            reads = ReadTopics.of(config, consumer, self._producer(config), self.internal_topics())
            keep = partial(keep_notes, name, queue, self._producer(config))
            kept = self._kept(name, queue, config)
            wanted = Replay(consumer, name, queue, reads, topic or only_topic(config), keep=keep, kept=kept)
            wanted.check_topic()
            if dry_run:
                planned = wanted.planned(wanted.done(), places)
                sent = list(islice(planned, MAX_REPLAYED))
            else:
                produce = partial(replay_producer, name, self._producer(config))
                sent = list(wanted.send(produce, places, MAX_REPLAYED))
        found = {(each.letter.partition, each.letter.offset) for each in sent}
        skipped = wanted.skipped
        missing = [r for place, r in places.items() if place not in found and r not in skipped.reasons]
        counted = [{"topic": to, "count": n} for to, n in sorted(Counter(each.topic for each in sent).items())]
        return {
            "connector": name,
            "queue": queue,
            "dry_run": dry_run,
            "replayed": counted,
            "records": [_sent(each) for each in sent[:100]],
            "skipped": skipped.count,
            "skipped_records": [
                {"record": record, "reason": why} for record, why in list(skipped.reasons.items())[:100]
            ],
            "missing": missing,
            "complete": len(sent) < MAX_REPLAYED,
        }

    def _kind(self, config: Mapping[str, str]) -> str:
        kind = self.kind_of(config)
        if kind == "unknown":
            raise m.Refused(400, f"The class {config.get('connector.class')} is not installed on this worker")
        return kind

    def _queue(self, name: str, config: Mapping[str, str]) -> str:
        setting = queue_setting(self._kind(config))
        queue = config.get(setting, "").strip()
        if not queue:
            raise m.Refused(404, f"Connector {name} has no dead letter queue: {setting} is not set")
        return queue

    def _kept(self, name: str, queue: str, config: Mapping[str, str]) -> Callable[[], dict[int, Done]]:
        return partial(kept_notes, name, queue, self._producer(config))

    def _producer(self, config: Mapping[str, str]) -> dict[str, str]:
        settings = connector_producer(self.worker, config, "penstock-dlq")
        del settings["max.in.flight.requests.per.connection"]  # what idempotence does not need
        return {**settings, "max.request.size": MAX_REQUEST_BYTES, "delivery.timeout.ms": "120000"}

    @contextmanager
    def _reader(self, name: str, config: Mapping[str, str]) -> Iterator[Consumer]:
        """Open a consumer on the cluster that the connector writes its dead letters to."""
        self.check(config, (PRODUCER, CONSUMER))
        client = connector_consumer(self.worker, config, "penstock-dlq", group_of(name))
        servers = connector_producer(self.worker, config, "penstock-dlq")["bootstrap.servers"]
        consumer = queue_consumer(name, {**client, "bootstrap.servers": servers})
        try:
            yield consumer
        except KafkaException as error:
            raise m.Refused(500, f"The dead letters of {name} could not be read: {sentence(error)}") from error
        except NoAnswerError as error:
            raise m.Refused(500, str(error)) from error
        finally:
            consumer.close()


def _span(consumer: Consumer, topic: str, partition: int) -> tuple[int, int]:
    low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), PATIENCE_S)
    return low, high


def _sent(each: Sent) -> dict[str, Any]:
    return {"record": each.letter.position, "topic": each.topic, "partition": each.partition}


def _place(record: str, queue: str) -> tuple[int, int]:
    """Raises Refused (400)."""
    parts = record.removeprefix(f"{queue}-").split("-")
    if record.startswith(f"{queue}-") and len(parts) == 2 and all(p.isascii() and p.isdecimal() for p in parts):
        partition, offset = map(int, parts)
        if partition < 2**31 and offset < 2**63:
            return partition, offset
    raise m.Refused(400, f"'{record}' is no record of the queue; it must be like {queue}-0-42")
