"""Records of the topics of a connector, for ``GET /penstock/v1/connectors/{name}/records``.

They are read with the settings of the connector's own clients and decoded by its converters, in a process of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from penstock.core.config.internal_topics import InternalTopics
from penstock.core.config.masked_fields import masked_fields
from penstock.core.config.overrides import CONSUMER, PRODUCER
from penstock.core.config.sink import topics_of
from penstock.core.model import local_requests as local
from penstock.core.model import messages as m
from penstock.java.regex import compile_regex
from penstock.kafka.client_settings import bootstrap_servers, unmatched_topics
from penstock.preview.messages import RecordsAnswer, RecordsRequest
from penstock.preview.topic_records import topic_consumer


@dataclass(frozen=True, slots=True)
class TopicRecords:
    """``config_of`` gives a connector's configuration with references resolved, and raises Refused (404); ``kind_of``
    its type; ``active`` its active topics (KIP-558). ``check`` raises ConnectError for what a connector may not have,
    ``check_overrides`` for overrides, of clients with these prefixes, that are not allowed. ``read`` blocks.
    """

    worker: Mapping[str, str]
    plugin_path: tuple[str, ...]
    config_of: Callable[[str], dict[str, str]]
    kind_of: Callable[[Mapping[str, str]], str]
    active: Callable[[str], Collection[str]]
    check: Callable[[Mapping[str, str]], None]
    check_overrides: Callable[[Mapping[str, str], Collection[str]], None]
    internal_topics: Callable[[], InternalTopics]
    read: Callable[[RecordsRequest, Future[None] | None], RecordsAnswer]

    def answer(self, request: local.ListRecords) -> dict[str, Any]:
        """Return the body of the reply. Raises Refused, ConnectError."""
        name = request.name
        config = self.config_of(name)
        kind = self.kind_of(config)
        if kind == "unknown":
            raise m.Refused(400, f"The class {config.get('connector.class')} is not installed on this worker")
        topics = self._topics(name, config, kind)
        topic = request.topic or (topics[0] if len(topics) == 1 else None)
        settings = topic_consumer(self.worker, config, kind)
        masked = masked_fields(config, written=kind == "source")
        found: dict[str, Any] = {
            "connector": name,
            "direction": "in" if kind == "sink" else "out",
            "topics": topics,
            "topic": topic,
            "cluster": bootstrap_servers(settings),
            "masked": sorted(masked.names),
            "hidden": ["headers", *sorted(masked.whole)] if masked else [],
        }
        if topic is None:
            return {**found, "records": [], "scanned": 0, "complete": True, "next": None}
        if topic not in topics and not (kind == "sink" and self._is_matched(topic, config, settings)):
            verb = "reads" if kind == "sink" else "has written to"
            raise m.Refused(404, f"Topic {topic} is none that connector {name} {verb}")
        self.check(config)
        self.check_overrides(config, (CONSUMER if kind == "sink" else PRODUCER,))
        answer = self.read(self._request(config, topic, request), request.left)
        if answer.error is not None:
            why = answer.error
            said = why if answer.status < 500 else f"The records of topic {topic} could not be read: {why}"
            raise m.Refused(answer.status, said)
        left = ",".join(f"{partition}:{offset}" for partition, offset in answer.left)
        complete = not answer.left
        return {
            **found,
            "records": answer.records,
            "scanned": answer.scanned,
            "complete": complete,
            "next": left or None,
        }

    def _topics(self, name: str, config: Mapping[str, str], kind: str) -> list[str]:
        """Return the topics that a sink names or has read, or to which a source has written."""
        named = topics_of(config.get("topics")) if kind == "sink" else []
        return sorted({*named, *self.active(name)})

    @staticmethod
    def _is_matched(topic: str, config: Mapping[str, str], consumer: Mapping[str, str]) -> bool:
        """Return whether a sink's ``topics.regex`` matches the topic, as its consumer would."""
        pattern = config.get("topics.regex", "").strip()
        return bool(pattern and topic not in unmatched_topics(consumer) and compile_regex(pattern).fullmatch(topic))

    def _request(self, config: dict[str, str], topic: str, request: local.ListRecords) -> RecordsRequest:
        return RecordsRequest(
            connector=config,
            worker=dict(self.worker),
            internal_topics=self.internal_topics(),
            plugin_path=list(self.plugin_path),
            topic=topic,
            partition=request.partition,
            start=request.start,
            offsets={str(partition): offset for partition, offset in request.offsets},
            limit=request.limit,
            search=request.search,
            seconds=request.seconds,
        )
