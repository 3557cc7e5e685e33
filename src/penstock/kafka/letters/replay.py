"""Replaying dead letters, each once: back to the topic they were read from, without the headers about the failure.

Who may write to the queue decides what the headers say, so a record is sent only to topics that the connector reads by
its own configuration; others are skipped and counted.

The records and the note that they were sent (``notes.py``) are one transaction. Of two replays at a time the later one
fences the earlier. A letter that can't be sent is left where it is, with a reason, and stops no other.
"""

from __future__ import annotations

import json
from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka import KafkaError as BrokerError

from penstock.api.errors import ConnectError
from penstock.kafka.admin import NoAnswerError, code_of, is_unreached, sentence
from penstock.kafka.background import await_done, in_background
from penstock.kafka.clients import AT_GROUPS, HANGS_SECONDS, SILENT, init_transactions, new_consumer, new_producer
from penstock.kafka.letters.notes import Done, done_of, group_of, offsets_to_commit
from penstock.kafka.letters.queue import Letter, letters
from penstock.kafka.letters.replay_targets import ReplayTargets

AT_ONCE = 500
"""Number of letters in one transaction."""
_FENCED = (
    BrokerError._FENCED,
    BrokerError.PRODUCER_FENCED,
    BrokerError.INVALID_PRODUCER_EPOCH,
    BrokerError._FATAL,
)
_REFUSED = (
    BrokerError.MSG_SIZE_TOO_LARGE,
    BrokerError.INVALID_RECORD,
    BrokerError.INVALID_TIMESTAMP,
)
"""Errors about a record, which another one would not get."""
MAX_REASONS = 500
"""Skipped letters of which a replay says why."""
MAX_PARTITION = 2**31 - 1
MAX_TOPIC_LENGTH = 249
_PATIENCE = 30.0
_ABORT_SECONDS = 5.0
"""For the end of a transaction that has failed; the next replay ends it otherwise."""
MAX_REQUEST_BYTES = str(100 << 20)
"""``max.request.size``: a record is as large as the connector that wrote it could make it."""


@dataclass(slots=True)
class SkippedLetters:
    """Dead letters that a replay has skipped."""

    count: int = 0
    reasons: dict[str, str] = field(default_factory=dict)
    """A sentence for each of the first MAX_REASONS, by position."""
    offsets: dict[int, list[int]] = field(default_factory=dict)
    """Their offsets in each partition of the queue, in order."""

    def add(self, letter: Letter, why: str) -> None:
        self.count += 1
        insort(self.offsets.setdefault(letter.partition, []), letter.offset)
        if len(self.reasons) < MAX_REASONS:
            self.reasons[letter.position] = why

    def last_before(self, letter: Letter) -> int | None:
        """Return the offset of the last one before this letter in its partition; None if there is none."""
        offsets = self.offsets.get(letter.partition, [])
        at = bisect_left(offsets, letter.offset)
        return offsets[at - 1] if at else None


def replay_producer(connector: str, settings: Mapping[str, str]) -> Producer:
    """The producer of one replay of the connector's dead letters. ``settings`` are Java's.

    Raises ConfigError, and KafkaError if it can't be made.
    """
    own = {"transactional.id": group_of(connector), "enable.idempotence": "true", "acks": "all"}
    large = {"max.request.size": MAX_REQUEST_BYTES, "buffer.memory": str(256 << 20)}
    return new_producer({**AT_GROUPS, **large, **settings, **own}, log_level=SILENT)


def queue_consumer(connector: str, settings: Mapping[str, str]) -> Consumer:
    """The consumer that reads the connector's dead letters, and which of them have been replayed.

    Raises ConfigError, and KafkaError if it can't be made.
    """
    own = {
        "group.id": group_of(connector),
        "enable.auto.commit": "false",
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "allow.auto.create.topics": "false",
    }
    native: dict[str, Any] = {"enable.partition.eof": True, "log_level": SILENT}
    return new_consumer({**settings, **own}, **native)


@dataclass(frozen=True, slots=True)
class Sent:
    """One letter, and where it was sent, or would be."""

    letter: Letter
    topic: str
    partition: int | None


class _Producers:
    """The producer of a replay, and its successors: librdkafka's loses count of its records when one is refused."""

    def __init__(self, produce: Callable[[], Producer]) -> None:
        self._produce = produce
        self.current = self._next()

    def renew(self) -> None:
        """Replace the producer; this ends its transaction."""
        self.current.purge()
        self.current = self._next()

    def _next(self) -> Producer:
        producer = self._produce()
        init_transactions(producer, _PATIENCE)
        return producer


@dataclass(frozen=True, slots=True)
class Replay:
    """Replays the letters of one connector in its queue. ``topic`` is for those that don't name their topic."""

    consumer: Consumer
    connector: str
    queue: str
    reads: ReplayTargets
    topic: str | None = None
    skipped: SkippedLetters = field(default_factory=SkippedLetters)
    keep: Callable[[Consumer], None] = lambda _: None
    """``keep_notes`` for this connector and queue; called at the end of a replay that has sent something."""
    kept: Callable[[], Mapping[int, Done]] = dict
    """``kept_notes`` for this connector and queue."""

    def done(self) -> dict[int, Done]:
        """Return which letters have been replayed, by partition of the queue."""
        return done_of(self.consumer, self.queue, self.kept)

    def planned(self, done: Mapping[int, Done], places: Collection[tuple[int, int]]) -> Iterator[Sent]:
        """Yield the records to send: these (partition and offset), or all that are not done yet."""
        known = self.consumer.list_topics(timeout=_PATIENCE).topics
        there = {topic: len(found.partitions) for topic, found in known.items()}
        for letter in self._wanted(done, places):
            if (sent := self._addressed(letter, there)) is not None:
                yield sent

    def _wanted(self, done: Mapping[int, Done], places: Collection[tuple[int, int]]) -> Iterator[Letter]:
        starts = {partition: each.next for partition, each in done.items()}
        if places:
            starts = {p: min(offset for q, offset in places if q == p) for p in starts.keys() & {p for p, _ in places}}
        for letter in letters(self.consumer, self.queue, starts):
            if places and (letter.partition, letter.offset) not in places:
                continue
            if letter.may_be_of(self.connector) and letter.offset not in done[letter.partition]:
                yield letter

    def check_topic(self) -> None:
        """Raises ConnectError if ``topic`` is none that the connector reads."""
        if self.topic is not None and not self.reads.may_receive(self.topic, None):
            raise ConnectError(f"{_shown(self.topic)} is no topic that connector {self.connector} reads ({self.reads})")

    def _addressed(self, letter: Letter, there: Mapping[str, int]) -> Sent | None:
        """Return where a letter goes; None if it is skipped. ``there``: numbers of partitions of existing topics."""
        if not letter.readable:
            self.skipped.add(letter, "The name of a header is not UTF-8: it could not be sent unchanged")
            return None
        topic, partition = letter.error_header("topic"), letter.error_header("partition")
        if topic is None:
            topic, partition = self.topic, None
        if topic is None:
            unsaid = (
                "It does not say from which topic it came, since it was written without "
                "errors.deadletterqueue.context.headers.enable; say where it is to go"
            )
            self.skipped.add(letter, unsaid)
            return None
        if not self.reads.may_receive(topic, letter):
            came = f"It names topic {_shown(topic)}, which connector {self.connector} does not read ({self.reads})"
            self.skipped.add(letter, came)
            return None
        number = None if partition is None else _partition(partition)
        if partition is not None and number is None:
            self.skipped.add(letter, f"It names partition {_shown(partition)}, which is no number of a partition")
            return None
        if topic not in there:
            self.skipped.add(letter, f"It came from topic {topic}, which does not exist any more")
            return None
        if number is not None and number >= there[topic]:
            self.skipped.add(letter, f"It came from partition {number} of topic {topic}, which has {there[topic]}")
            return None
        return Sent(letter, topic, number)

    def send(
        self, produce: Callable[[], Producer], places: Collection[tuple[int, int]], limit: int | None = None
    ) -> Iterator[Sent]:
        """Send what is planned, up to ``limit``, and yield it as soon as it is committed.

        ``produce`` makes a producer as ``replay_producer`` does; it is called again after records that were refused.
        Raises ConnectError; NoAnswerError if the brokers are away, so that the rest can be sent later.
        """
        sent = 0
        try:
            producers = _Producers(produce)
            done = self.done()
            planned = self.planned(done, places)
            while chunk := list(islice(planned, AT_ONCE if limit is None else min(AT_ONCE, limit - sent))):
                for part in self._send_parts(producers, chunk, done, all_before=not places):
                    sent += len(part)
                    yield from part
        except KafkaException as e:
            if code_of(e) in _FENCED:  # the later replay keeps its own notes, and these would replace them
                sent = 0
            problem = f"The dead letters of {self.connector} could not be sent: {sentence(e)}"
            if is_unreached(e):
                rest = "Those of transactions before are replayed; another replay sends the rest"
                raise NoAnswerError(f"{problem}. {rest}") from e
            raise ConnectError(problem) from e
        finally:
            if sent:
                self.keep(self.consumer)

    def _send_parts(
        self, producers: _Producers, chunk: list[Sent], done: dict[int, Done], all_before: bool
    ) -> Iterator[list[Sent]]:
        """Send these in as few transactions as the brokers take, and yield each. A letter that they refuse is skipped.

        One refused record fails all those that were sent with it, so the chunk is halved until it is alone.
        """
        try:
            self._send(producers.current, chunk, done, all_before)
        except KafkaException as e:
            if code_of(e) not in _REFUSED:
                raise
            producers.renew()
            if len(chunk) == 1:
                self.skipped.add(chunk[0].letter, f"Topic {chunk[0].topic} does not take it: {sentence(e)}")
                return
            half = len(chunk) // 2
            yield from self._send_parts(producers, chunk[:half], done, all_before)
            yield from self._send_parts(producers, chunk[half:], done, all_before)
        else:
            yield chunk

    def _send(self, producer: Producer, chunk: list[Sent], done: dict[int, Done], all_before: bool) -> None:
        """Send these in one transaction; ``done`` has them afterwards. Raises KafkaException: then none is sent."""
        refused: list[BrokerError] = []
        noted = {p: Done(done[p].next, list(done[p].beyond)) for p in {each.letter.partition for each in chunk}}
        producer.begin_transaction()
        try:
            for each in chunk:
                _produce(producer, each, lambda error, _: refused.append(error) if error is not None else None)
                mine, offset = noted[each.letter.partition], each.letter.offset
                if not all_before:
                    mine.add(offset, offset)
                elif (skipped := self.skipped.last_before(each.letter)) is None:
                    mine.up_to(offset)
                else:  # what lies between has been read: it was replayed before, or is another connector's
                    mine.add(max(skipped + 1, mine.next), offset)
            left = producer.flush(_PATIENCE)
            if refused:
                raise KafkaException(next((e for e in refused if e.code() in _REFUSED), refused[0]))
            if left:
                raise _no_answer("no broker has acknowledged them")
            self._send_offsets(producer, offsets_to_commit(self.queue, noted))
            producer.commit_transaction(_PATIENCE)
            done.update(noted)
        except BaseException:
            with suppress(KafkaException):  # what went wrong before says more, and the next replay fences this one
                producer.abort_transaction(_ABORT_SECONDS)
            raise

    def _send_offsets(self, producer: Producer, note: list[TopicPartition]) -> None:
        """librdkafka 2.16 waits for its own answer without a limit here, see ``AT_GROUPS``. A call that is given up
        stays in its thread, with the producer. It commits nothing if it comes back.
        """
        group = self.consumer.consumer_group_metadata()

        def start(done: Callable[[Exception | None], None]) -> None:
            in_background(
                "penstock-dlq",
                lambda: producer.send_offsets_to_transaction(note, group, _PATIENCE),
                lambda _, error: done(error),
            )

        try:
            await_done(start, "send the offsets", _PATIENCE + HANGS_SECONDS)
        except NoAnswerError:
            raise _no_answer("the client does not come back from sending offsets") from None


def _partition(text: str) -> int | None:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 10 else -1
    return number if 0 <= number <= MAX_PARTITION else None


def _shown(header: str) -> str:
    """Return the value of a header, which may be anything, as a quoted text of visible characters."""
    return json.dumps(header[:MAX_TOPIC_LENGTH])


def _no_answer(why: str) -> KafkaException:
    return KafkaException(BrokerError(BrokerError._TIMED_OUT, why))


def _produce(producer: Producer, sent: Sent, delivered: Callable[..., None]) -> None:
    letter = sent.letter
    while True:
        try:
            producer.produce(
                sent.topic,
                letter.value,
                letter.key,
                partition=-1 if sent.partition is None else sent.partition,
                timestamp=max(letter.timestamp or 0, 0),
                headers=list(letter.own_headers),
                on_delivery=delivered,
            )
            return
        except BufferError:
            producer.poll(0.1)
