"""Examines a request to skip records of a sink: that the sink is going to read them, and where they are to go."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, OffsetSpec

from penstock.api.sink import TopicPartition
from penstock.core.config.overrides import CONSUMER
from penstock.core.config.sink import DLQ_TOPIC, TOPICS, TOPICS_REGEX, topics_of
from penstock.core.model.actions import ExamineSkip
from penstock.core.model.messages import Refused
from penstock.core.model.skips import Skip, SkipTarget
from penstock.java.regex import compile_regex
from penstock.kafka.admin import offsets_at, partition_counts, sentence, topic_id_outcomes
from penstock.kafka.client_settings import connector_consumer, reads_committed, unmatched_topics
from penstock.kafka.clients import admin_like
from penstock.kafka.offsets.groups import committed_offsets

TIMEOUT_S = 15.0
Config = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SkipExamination:
    worker: Config
    resolve: Callable[[Config], dict[str, str]]
    kind_of: Callable[[Config], str]
    check: Callable[[Config, Collection[str]], None]
    """Raises ConnectError for overrides, of clients with these prefixes, that are not allowed."""

    def examine(self, ask: ExamineSkip) -> tuple[Skip, ...]:
        """Return the skips. Blocks while Kafka is asked. Raises Refused, ConnectError."""
        name, topic, partition = ask.connector, ask.topic, ask.partition
        kind = self.kind_of(ask.config)
        if kind == "unknown":
            raise Refused(400, f"The class {ask.config.get('connector.class')} is not installed on this worker")
        if kind != "sink":
            raise Refused(
                400,
                f"Connector {name} is a source: it reads no topic. Let it continue behind the record with "
                f"`penstock offsets alter {name}`",
            )
        config = {**self.resolve(ask.config), "name": name}
        to = _target(ask.to, config)
        self.check(config, (CONSUMER,))
        settings = connector_consumer(self.worker, config, f"connector-skip-{name}")
        _check_read(topic, config, settings)
        admin = admin_like(settings)
        try:
            id, begin, end = self._place(admin, topic, partition, reads_committed(settings))
        except KafkaException as error:
            raise Refused(500, f"The offsets of {topic}-{partition} could not be read: {sentence(error)}") from error
        group = settings["group.id"]
        place = TopicPartition(topic, partition)
        committed = committed_offsets(settings, settings["client.id"], group, TIMEOUT_S).get(place)
        for first, last in ask.spans:
            _check_offsets(place, first, last, begin, end, committed)
        return tuple(Skip(topic, partition, first, last, id, to) for first, last in ask.spans)

    @staticmethod
    def _place(admin: AdminClient, topic: str, partition: int, committed: bool) -> tuple[str, int, int]:
        """Return the topic's ID, and the first offset of the partition and the one after its last record."""
        count = partition_counts(admin, [topic], TIMEOUT_S).get(topic)
        if count is None:
            raise Refused(400, f"Topic {topic} does not exist")
        if partition >= count:
            raise Refused(400, f"Topic {topic} has no partition {partition}: it has {count}, numbered from 0")
        begin = offsets_at(admin, topic, [partition], OffsetSpec.earliest(), TIMEOUT_S)[partition]
        end = offsets_at(admin, topic, [partition], OffsetSpec.latest(), TIMEOUT_S, committed=committed)[partition]
        return id_of(topic, topic_id_outcomes(admin, [topic], TIMEOUT_S)), begin, end


def _target(given: SkipTarget | None, config: Config) -> SkipTarget:
    if given == "discard" or config.get(DLQ_TOPIC, "").strip():
        return given or "dead-letters"
    raise Refused(
        400,
        f"Connector {config['name']} has no dead letter queue: {DLQ_TOPIC} is not set. Set it, or skip with `discard`, "
        "which drops the records",
    )


def id_of(topic: str, outcomes: Mapping[str, str | KafkaException | None]) -> str:
    """Return the topic's ID; empty if the brokers know no IDs. Raises Refused, KafkaException."""
    if topic not in outcomes:
        raise Refused(500, f"The brokers don't know the ID of topic {topic} now; try again")
    outcome = outcomes[topic]
    if isinstance(outcome, KafkaException):
        raise outcome
    return outcome or ""


def _check_read(topic: str, config: Config, consumer: Config) -> None:
    names, pattern = topics_of(config.get(TOPICS)), config.get(TOPICS_REGEX, "").strip()
    if names:
        reads = topic in names
    else:
        reads = topic not in unmatched_topics(consumer) and compile_regex(pattern).fullmatch(topic) is not None
    if not reads:
        setting = f"{TOPICS}={','.join(names)}" if names else f"{TOPICS_REGEX}={pattern}"
        raise Refused(400, f"Connector {config['name']} does not read topic {topic} ({setting})")


def _check_offsets(place: TopicPartition, first: int, last: int, begin: int, end: int, committed: int | None) -> None:
    if last >= end:
        raise Refused(400, f"There is no record at offset {last} of {place} yet: its end is offset {end}")
    if first < begin:
        raise Refused(400, f"There is no record at offset {first} of {place} any more: it begins at offset {begin}")
    if committed is not None and last < committed:
        raise Refused(
            400, f"The connector is past offset {last} of {place} already: its committed offset is {committed}"
        )
