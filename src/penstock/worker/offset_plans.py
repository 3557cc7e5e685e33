"""Plans of offsets: where a sink would begin after a reset, and what it would read again or skip."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from confluent_kafka import KafkaException

from penstock.core.config.overrides import CONSUMER
from penstock.core.model import local_requests as local
from penstock.core.model import messages as m
from penstock.kafka.admin import sentence
from penstock.kafka.client_settings import connector_consumer
from penstock.kafka.offsets.plans import Plan, plan
from penstock.kafka.offsets.sink_looks import LookedAt

CLIENT = "penstock-offsets"


@dataclass(frozen=True, slots=True)
class OffsetPlans:
    """``config_of`` gives a connector's configuration with references resolved, and raises Refused (404); ``kind_of``
    its type. ``check`` raises ConnectError for overrides, of clients with these prefixes, that are not allowed.
    """

    worker: Mapping[str, str]
    config_of: Callable[[str], dict[str, str]]
    kind_of: Callable[[Mapping[str, str]], str]
    check: Callable[[Mapping[str, str], Collection[str]], None]

    def answer(self, request: local.PlanOffsets) -> dict[str, Any]:
        """Return the body of the reply. Blocks while Kafka is read. Raises Refused, ConnectError."""
        config = self.config_of(request.name)
        if self.kind_of(config) != "sink":
            raise m.Refused(
                400,
                f"Connector {request.name} is a source: its offsets are positions in its origin, which only it "
                "can find for a time. Alter them with PATCH, or reset them with DELETE",
            )
        self.check(config, (CONSUMER,))
        consumer = connector_consumer(self.worker, config, CLIENT)
        sink = LookedAt.of(config, consumer["group.id"])
        if request.topics:
            sink = _only(sink, request.topics, request.name)
        try:
            found = plan(consumer, sink, request.to)
        except KafkaException as error:
            reason = f"The brokers of connector {request.name} gave no answer: {sentence(error)}"
            raise m.Refused(503, reason) from error
        if isinstance(found, str):
            raise m.Refused(503, f"The offsets of connector {request.name} could not be read: {found}")
        return _document(request.name, found)


def _only(sink: LookedAt, topics: tuple[str, ...], name: str) -> LookedAt:
    for topic in topics:
        reads = topic in sink.topics if sink.pattern is None else sink.pattern.fullmatch(topic)
        if not reads:
            raise m.Refused(400, f"Connector {name} does not read topic {topic}")
    return replace(sink, topics=topics, pattern=None)


def _document(name: str, found: Plan) -> dict[str, Any]:
    if found.unknown:
        topic, reason = next(iter(found.unknown.items()))
        raise m.Refused(503, f"The offsets of topic {topic} could not be read: {reason}")
    if found.missing:
        raise m.Refused(404, f"Connector {name} reads topics that do not exist: {', '.join(found.missing)}")
    changes = [each.change for each in found.offsets.values()]
    return {
        "connector": name,
        "again": -sum(change for change in changes if change < 0),
        "skipped": sum(change for change in changes if change > 0),
        "offsets": [
            {
                "partition": {"kafka_topic": topic, "kafka_partition": number},
                "offset": {"kafka_offset": each.offset},
                "committed": each.committed,
                "again": max(-each.change, 0),
                "skipped": max(each.change, 0),
            }
            for (topic, number), each in sorted(found.offsets.items())
        ],
    }
