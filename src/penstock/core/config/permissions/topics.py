"""Topics, groups and names of clients that a connector's configuration may not name: those of workers and of Kafka.

Checked at validation and again when clients are made. Topics that only show at run time, as a record's, are checked by
``kafka.topic_guard``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from penstock.core.config.internal_topics import OFFSETS_OF_CONNECTOR, InternalTopics, refusal
from penstock.core.config.overrides import ADMIN, CONSUMER, PRODUCER
from penstock.core.config.permissions.clients import SPARK_SINK
from penstock.core.config.setting import Props
from penstock.core.config.sink import DLQ_TOPIC, TOPICS, TOPICS_REGEX
from penstock.core.config.source import DEAD_LETTER_TOPIC, OFFSETS_TOPIC

OFFSETS_OF_WORKER = "the worker's `offset.storage.topic`"
SHARED_OFFSETS = (OFFSETS_OF_WORKER, OFFSETS_OF_CONNECTOR)
"""Owners of topics that may be a connector's ``offsets.storage.topic`` too: several may share one, as in Java."""
SPARK_SOURCE = "penstock.connectors.SparkSource"
MIRROR = "org.apache.kafka.connect.mirror.Mirror"
MIRROR_SOURCE, MIRROR_TARGET, OPTIONS = "source.cluster.", "target.cluster.", "option.kafka."
"""Prefixes of settings of clients, besides those of overrides."""
_BROKER_CLIENT = "__admin_client"
"""The ``client.id`` whose records brokers accept for Kafka's own topics."""
_TOPIC_SETTING = re.compile(r"(.*\.)?(topic|topics|topic\.name|topic\.names|topic\.transaction)")
_ROUTES = re.compile(r"transforms\..*\.(replacement|topic\.format)")
_PLAIN_PATTERN = re.compile(r"\^?(?:\\Q)?((?:[A-Za-z0-9._-]|\\[._-])+)(?:\\E)?\$?")


@dataclass(frozen=True, slots=True)
class TopicUse:
    """A setting of a connector that names a topic."""

    setting: str
    topic: str
    writing: bool
    client: str
    """Prefix of the settings of the client that uses it: that of overrides, or of ``bootstrap.servers``."""
    offsets: bool = False
    """Whether it is for the connector's own offsets."""


ClusterOf = Callable[[str], str | None]
"""Returns the ID of the cluster that the client with this prefix reaches, None if that is not known. May block."""


def topic_problems(
    connector: str, props: Props, source: bool, internal: InternalTopics, cluster_of: ClusterOf
) -> Iterator[tuple[str, str]]:
    """Yield the settings that name internal topics, and sentences. ``connector``: Java's name of its class."""
    for use in topic_uses(connector, props, source):
        if not internal.suspects({use.topic}, writing=use.writing):
            continue
        owner = internal.owner(use.topic, cluster_of(use.client), writing=use.writing)
        if owner is not None and not (use.offsets and owner in SHARED_OFFSETS):
            yield use.setting, refusal(use.topic, owner, writing=use.writing)


def topic_uses(connector: str, props: Props, source: bool) -> Iterator[TopicUse]:
    """Yield the settings that name topics, with each of them. Patterns count if only one topic can match them."""
    mirror = connector.startswith(MIRROR)
    for key, given in props.items():
        if not given:
            continue
        name = key.strip().casefold()
        if name in (DLQ_TOPIC, DEAD_LETTER_TOPIC):
            yield TopicUse(key, given.strip(), True, PRODUCER)
        elif name == OFFSETS_TOPIC:
            if source:
                yield TopicUse(key, given.strip(), True, PRODUCER, offsets=True)
        elif name == TOPICS and (mirror or not source):
            client = MIRROR_SOURCE if mirror else CONSUMER
            yield from (TopicUse(key, topic, False, client) for topic in _listed(given, patterns=mirror))
        elif name == TOPICS_REGEX and not source:
            yield from (TopicUse(key, topic, False, CONSUMER) for topic in _listed(given, patterns=True))
        elif name.startswith("option."):
            if connector in (SPARK_SINK, SPARK_SOURCE):
                yield from _of_option(key, name.removeprefix("option.").strip(), given, connector == SPARK_SINK)
        elif _TOPIC_SETTING.fullmatch(name) or (source and _ROUTES.fullmatch(name)):
            own = f"{key.rpartition('.')[0]}."
            client = own if f"{own}bootstrap.servers" in props else PRODUCER
            yield from (TopicUse(key, topic, True, client) for topic in _listed(given, patterns=False))


def _listed(given: str, *, patterns: bool) -> Iterator[str]:
    for each in given.split(","):
        topic = each.strip()
        if patterns:
            found = _PLAIN_PATTERN.fullmatch(topic)
            topic = re.sub(r"\\(.)", r"\1", found[1]) if found else ""
        if topic:
            yield topic


def _of_option(key: str, option: str, given: str, writing: bool) -> Iterator[TopicUse]:
    """Yield the topics of an option of Spark's Kafka source or sink."""
    match option:
        case "topic" | "subscribe":
            yield from (TopicUse(key, topic, writing, OPTIONS) for topic in _listed(given, patterns=False))
        case "subscribepattern":
            yield from (TopicUse(key, topic, writing, OPTIONS) for topic in _listed(given, patterns=True))
        case "assign":
            yield from (TopicUse(key, topic, writing, OPTIONS) for topic in assigned_topics(given))


def assigned_topics(given: str) -> list[str]:
    """Return the topics of Spark's option ``assign``; none if it is not what Spark takes, which says so itself."""
    try:
        found = json.loads(given)
    except (ValueError, RecursionError):
        return []
    return [str(topic) for topic in found] if isinstance(found, dict) else []


@dataclass(frozen=True, slots=True)
class WorkerNames:
    """Names of a worker's own clients."""

    group_id: str | None
    """None in standalone mode."""
    client_ids: Collection[str]
    transactional_ids: Collection[str]
    """IDs of the worker and of tasks of other connectors."""


def name_problems(props: Props, names: WorkerNames) -> Iterator[tuple[str, str]]:
    """Yield the overrides by which a connector's clients would take the place of a worker's or of another connector's.

    That a sink may not join the worker's group is Java's own check, see ``core.config.validation``.
    """
    for prefix in (PRODUCER, CONSUMER, ADMIN):
        key = f"{prefix}client.id"
        given = (props.get(key) or "").strip()
        if given == _BROKER_CLIENT:
            yield key, f"{given} is the name of brokers' own clients: choose another one"
        elif given and given in names.client_ids:
            yield key, f"{given} is the name of a client of the worker: choose another one"
    for key in (f"{PRODUCER}transactional.id", "option.kafka.transactional.id"):
        given = (props.get(key) or "").strip()
        if given and given in names.transactional_ids:
            yield key, f"{given} is the transactional ID of the worker or of another connector: choose another one"
    key = "option.kafka.group.id"
    given = (props.get(key) or "").strip()
    if given and given == names.group_id:
        yield key, f"Consumer group {given} conflicts with Connect worker group {given}"


def joins_worker_group(group: str, names: WorkerNames) -> str | None:
    """Return a sentence if a consumer of this group would join the worker's; checked before one is made."""
    if names.group_id is None or group.strip() != names.group_id:
        return None
    return f"Consumer group {group.strip()} conflicts with Connect worker group {names.group_id}"
