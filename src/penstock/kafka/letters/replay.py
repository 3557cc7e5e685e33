"""Replaying dead letters, each once: back to the topic they were read from, without the headers about the failure.

The records and the note that they were sent are one transaction. The note is an offset of the group
``penstock-dlq-<connector>`` in the queue: all letters before it are done, and so are those that its metadata names, as
in ``7,9-12``. Of two replays at a time the later one fences the earlier.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka import KafkaError as BrokerError

from penstock.api.errors import ConnectError
from penstock.core.config.sink import topics_of
from penstock.kafka.admin import NoAnswerError, is_unreached, sentence
from penstock.kafka.background import await_done, in_background
from penstock.kafka.clients import AT_GROUPS, HANGS_SECONDS, SILENT, init_transactions, new_consumer, new_producer
from penstock.kafka.letters.queue import Letter, letters, partitions_of

AT_ONCE = 500
"""Number of letters in one transaction."""
MAX_METADATA_LENGTH = 4000
"""Characters; brokers take 4096 by default (``offset.metadata.max.bytes``)."""
_PATIENCE = 30.0
_ABORT_SECONDS = 5.0
"""For the end of a transaction that has failed; the next replay ends it otherwise."""
MAX_REQUEST_BYTES = str(100 << 20)
"""``max.request.size``: a record is as large as the connector that wrote it could make it."""


def group_of(connector: str) -> str:
    return f"penstock-dlq-{connector}"


def check_replay(connector: str, kind: str, config: Mapping[str, str]) -> None:
    """Raises ConnectError for a connector whose dead letters can't be replayed."""
    if kind == "source":
        raise ConnectError(
            f"Connector {connector} is a source: its dead letters are records that could not be converted for "
            "their topic. Fix the cause, then let the source read them again: `penstock offsets alter`"
        )
    reads, writes = (config.get(f"{c}.override.bootstrap.servers") for c in ("consumer", "producer"))
    if reads != writes:
        raise ConnectError(
            f"Connector {connector} reads from one Kafka cluster and has its dead letter queue on another "
            "(consumer.override.bootstrap.servers and producer.override.bootstrap.servers differ): its dead letters "
            "can't be sent back in one transaction"
        )


def only_topic(config: Mapping[str, str]) -> str | None:
    """The one topic that the connector reads; None if there may be several."""
    topics = topics_of(config.get("topics"))
    return topics[0] if len(topics) == 1 else None


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


@dataclass(slots=True)
class Done:
    """Which letters of one partition have been replayed: all before ``next``, and ``beyond``."""

    next: int = 0
    beyond: set[int] = field(default_factory=set)

    def __contains__(self, offset: int) -> bool:
        return offset < self.next or offset in self.beyond

    def up_to(self, offset: int) -> None:
        """This letter and all before it are done."""
        self.next = max(self.next, offset + 1)
        self.beyond = {each for each in self.beyond if each >= self.next}

    def metadata(self) -> str:
        runs = groupby(enumerate(sorted(self.beyond)), lambda each: each[1] - each[0])
        spans = [[offset for _, offset in run] for _, run in runs]
        return ",".join(str(span[0]) if len(span) == 1 else f"{span[0]}-{span[-1]}" for span in spans)

    @classmethod
    def of(cls, offset: int, metadata: str | None) -> Done:
        done = cls(max(offset, 0))
        for span in filter(None, (metadata or "").split(",")):
            first, _, last = span.partition("-")
            done.beyond |= set(range(int(first), int(last or first) + 1))
        return done


@dataclass(frozen=True, slots=True)
class Sent:
    """One letter, and where it was sent, or would be."""

    letter: Letter
    topic: str
    partition: int | None


def done_of(consumer: Consumer, topic: str) -> dict[int, Done]:
    """By partition of the queue. The consumer is of the group ``group_of`` says, and reads committed records only."""
    asked = [TopicPartition(topic, p) for p in partitions_of(consumer, topic)]
    found = consumer.committed(asked, timeout=_PATIENCE) if asked else []
    return {each.partition: Done.of(each.offset, each.metadata) for each in found}


@dataclass(frozen=True, slots=True)
class Replay:
    """Replays the letters of one connector in its queue. ``topic`` is for those that don't name their topic."""

    consumer: Consumer
    connector: str
    queue: str
    topic: str | None = None

    def planned(self, done: Mapping[int, Done], places: Collection[tuple[int, int]]) -> Iterator[Sent]:
        """Yield the records to send: these (partition and offset), or all that are not done yet.

        Raises ConnectError for a dead letter that can't be sent.
        """
        there = set(self.consumer.list_topics(timeout=_PATIENCE).topics)
        for letter in self._wanted(done, places):
            yield self._addressed(letter, there)

    def _wanted(self, done: Mapping[int, Done], places: Collection[tuple[int, int]]) -> Iterator[Letter]:
        starts = {partition: each.next for partition, each in done.items()}
        if places:
            starts = {p: min(offset for q, offset in places if q == p) for p in starts.keys() & {p for p, _ in places}}
        for letter in letters(self.consumer, self.queue, starts):
            if places and (letter.partition, letter.offset) not in places:
                continue
            if letter.may_be_of(self.connector) and letter.offset not in done[letter.partition]:
                yield letter

    def _addressed(self, letter: Letter, there: Collection[str]) -> Sent:
        topic, partition = letter.error_header("topic"), letter.error_header("partition")
        if topic is None:
            topic, partition = self.topic, None
        if topic is None:
            raise ConnectError(
                f"The record at {letter.position} does not say from which topic it came, since it was written without "
                "errors.deadletterqueue.context.headers.enable; say where it is to go"
            )
        if topic not in there:
            raise ConnectError(
                f"The record at {letter.position} came from topic {topic}, which does not exist any more"
            )
        return Sent(letter, topic, None if partition is None else int(partition))

    def send(self, producer: Producer, places: Collection[tuple[int, int]]) -> Iterator[Sent]:
        """Send what is planned, and yield it as soon as it is committed. The producer is transactional.

        Raises ConnectError; NoAnswerError if the brokers are away, so that the rest can be sent later.
        """
        try:
            init_transactions(producer, _PATIENCE)
            done = done_of(self.consumer, self.queue)
            planned = self.planned(done, places)
            while chunk := list(islice(planned, AT_ONCE)):
                self._send(producer, chunk, done, all_before=not places)
                yield from chunk
        except KafkaException as e:
            problem = f"The dead letters of {self.connector} could not be sent: {sentence(e)}"
            if is_unreached(e):
                rest = "Those of transactions before are replayed; another replay sends the rest"
                raise NoAnswerError(f"{problem}. {rest}") from e
            raise ConnectError(problem) from e

    def _send(self, producer: Producer, chunk: list[Sent], done: dict[int, Done], all_before: bool) -> None:
        refused: list[BrokerError] = []
        producer.begin_transaction()
        try:
            for each in chunk:
                _produce(producer, each, lambda error, _: refused.append(error) if error is not None else None)
                mine = done[each.letter.partition]
                if all_before:
                    mine.up_to(each.letter.offset)
                else:
                    mine.beyond.add(each.letter.offset)
            left = producer.flush(_PATIENCE)
            if refused:
                raise KafkaException(refused[0])
            if left:
                raise _no_answer("no broker has acknowledged them")
            note = _note(self.queue, {each.letter.partition for each in chunk}, done)
            self._send_offsets(producer, note)
            producer.commit_transaction(_PATIENCE)
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


def _no_answer(why: str) -> KafkaException:
    return KafkaException(BrokerError(BrokerError._TIMED_OUT, why))


def _note(queue: str, partitions: Iterable[int], done: Mapping[int, Done]) -> list[TopicPartition]:
    notes = []
    for partition in sorted(partitions):
        metadata = done[partition].metadata()
        if len(metadata) > MAX_METADATA_LENGTH:
            raise ConnectError(
                f"Too many single records of {queue}-{partition} have been replayed to remember each; replay all that "
                "are left"
            )
        notes.append(TopicPartition(queue, partition, done[partition].next, metadata))
    return notes


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
