"""Contents of a Java cluster's Kafka: its internal topics, connectors, source offsets and sinks' groups.

Only reads: no topic is created, no group joined, no offset committed.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

from kafka import errors as group_errors
from penstock.api.errors import ConnectError
from penstock.core.config.clients import CONSUMER_SETTINGS
from penstock.core.model.records import ConnectorConfig
from penstock.doctor.findings import NOT_RESOLVED, Finding, Verdict
from penstock.kafka.admin import sentence
from penstock.kafka.client_settings import consumer_group, internal
from penstock.kafka.clients import SILENT, check_addresses, new_consumer
from penstock.kafka.offsets.entries import OffsetEntries
from penstock.kafka.offsets.groups import committed_offsets
from penstock.kafka.storage import config_records
from penstock.settings.providers import has_reference

KINDS = ("config", "offset", "status")
_PATIENCE = 15.0
_CLIENT = "penstock-doctor"


@dataclass(slots=True)
class ClusterContents:
    findings: list[Finding] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    connectors: dict[str, dict[str, str]] = field(default_factory=dict)
    """The configurations in the config topic."""
    offsets: OffsetEntries = field(default_factory=OffsetEntries)


def look(worker: Mapping[str, str]) -> ClusterContents:
    """The internal topics that a worker's settings name. Raises ConnectError if no broker can be reached, or a topic
    can't be read.
    """
    for name, value in worker.items():
        if has_reference(value) and (name in CONSUMER_SETTINGS.keys or name.startswith("admin.")):
            raise ConnectError(f"{name} is {NOT_RESOLVED}.")
    check_addresses(worker.get("bootstrap.servers", ""))
    found = ClusterContents()
    with _consumer(worker) as consumer:
        try:
            there = consumer.list_topics(timeout=_PATIENCE).topics
        except KafkaException as error:
            raise ConnectError(
                f"No broker can be reached at {worker.get('bootstrap.servers')}: {sentence(error)}"
            ) from error
        for kind in KINDS:
            name = worker.get(f"{kind}.storage.topic", "")
            if has_reference(name):
                says = f"its records were not read: the name of the topic is {NOT_RESOLVED}"
                found.findings.append(Finding(Verdict.UNCHECKED, f"{kind}.storage.topic", says))
                continue
            if name not in there:
                found.findings.append(
                    Finding(
                        Verdict.DIFFERS, f"{kind}.storage.topic", f"there is no topic `{name}`; a worker creates it"
                    )
                )
                continue
            partitions = sorted(there[name].partitions)
            try:
                records = list(_records(consumer, name, partitions))
            except KafkaException as error:
                raise ConnectError(f"The {kind} topic `{name}` can't be read: {sentence(error)}") from error
            found.facts.append(f"{kind} topic `{name}`: {len(partitions)} partitions, {len(records)} records")
            if kind == "config":
                found.connectors = _connectors(records)
            elif kind == "offset":
                found.offsets.put([(record.key(), record.value()) for record in records])
    return found


def source_offsets(found: ClusterContents, connector: str) -> str:
    if any(each.subject == "offset.storage.topic" and each.verdict is Verdict.UNCHECKED for each in found.findings):
        return "its source offsets were not read"
    return f"{len(found.offsets.snapshot(connector))} source partitions have an offset"


def sink_offsets(worker: Mapping[str, str], name: str, config: Mapping[str, str]) -> str:
    """Return the offsets that a sink's group has committed, as a sentence."""
    group = consumer_group(worker, {"name": name, **config})
    if has_reference(group):
        return f"the offsets of group `{group}` were not read: its name is {NOT_RESOLVED}"
    try:
        committed = committed_offsets(internal(worker, "admin", _CLIENT), _CLIENT, group, _PATIENCE)
    except group_errors.KafkaError as error:
        return f"the offsets of group `{group}` can't be read: {error}"
    return f"group `{group}` has committed offsets of {len(committed)} partitions"


@contextlib.contextmanager
def _consumer(worker: Mapping[str, str]) -> Iterator[Consumer]:
    settings = {**internal(worker, "consumer", _CLIENT), "allow.auto.create.topics": "false"}
    consumer = new_consumer({**settings, "isolation.level": "read_committed"}, log_level=SILENT)
    try:
        yield consumer
    finally:
        consumer.close()


def _records(consumer: Consumer, topic: str, partitions: list[int]) -> Iterator[Any]:
    """All records that are there now. Raises KafkaException, also if the brokers send none of them any longer."""
    ends = {}
    for partition in partitions:
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=_PATIENCE)
        if high > low:
            ends[partition] = high
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in ends])
    patience = time.monotonic() + _PATIENCE
    while ends:
        messages = consumer.consume(1000, timeout=0.2)
        for message in messages:
            if (error := message.error()) is not None:  # that this principal may not read the topic, say
                raise KafkaException(error)
            yield message
        if messages:
            patience = time.monotonic() + _PATIENCE
        elif time.monotonic() > patience:
            raise KafkaException(f"the brokers have sent no records for {_PATIENCE:g} s")
        for at in consumer.position([TopicPartition(topic, partition) for partition in ends]):
            if at.offset >= ends[at.partition]:
                del ends[at.partition]
    consumer.unassign()


def _connectors(records: list[Any]) -> dict[str, dict[str, str]]:
    """The last configuration of each connector."""
    found: dict[str, dict[str, str]] = {}
    for message in records:
        record = config_records.decode(message.offset(), message.key(), message.value())
        if isinstance(record, ConnectorConfig):
            if record.config is None:
                found.pop(record.name, None)
            else:
                found[record.name] = record.config
    return found
