"""Topics that a source task is about to write to are created first, if a rule of the connector says how (KIP-158).

Java: ``AbstractWorkerSourceTask.maybeCreateTopic``, ``TopicAdmin.createOrFindTopics``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from penstock.api.errors import ConnectError
from penstock.api.text import java_text
from penstock.api.topic_settings import TopicSettings
from penstock.core.topic_creation import TopicCreation
from penstock.pipeline.broker_errors import broker_error

log = logging.getLogger(__name__)

_REFUSED = (
    ck.KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    ck.KafkaError.TOPIC_AUTHORIZATION_FAILED,
    ck.KafkaError.UNSUPPORTED_VERSION,
)


class TopicCreator:
    """Remembers which topics are there. ``adjust`` is ``SourceTask.settings_for_new_topic``."""

    def __init__(self, make_admin: Callable[[], AdminClient], rules: TopicCreation) -> None:
        self._make_admin, self._rules = make_admin, rules
        self._admin: AdminClient | None = None
        self._there: set[str] = set()
        self.adjust: Callable[[TopicSettings], TopicSettings | None]

    def ensure(self, topics: Iterable[str]) -> None:
        """Called with the topics of every batch. Raises ConnectError for a topic that should be created and can't
        be.
        """
        if not self._rules.rules:
            return
        for topic in set(topics) - self._there:
            self._ensure(topic)
            self._there.add(topic)

    def _ensure(self, topic: str) -> None:
        log.info("The task will send records to topic '%s' for the first time. Checking whether topic exists", topic)
        if self._admin is None:
            self._admin = self._make_admin()
        if exists(self._admin, topic):
            return
        spec = self._rules.spec_for(topic)
        if spec is None:
            log.info("No rule matches topic '%s': its creation is left to the broker", topic)
            return
        proposed = TopicSettings(topic, spec.partitions, spec.replication_factor, spec.configs)
        settings = self.adjust(proposed)
        if settings is None:
            log.info("The task leaves the creation of topic '%s' to the broker", topic)
            return
        create(self._admin, settings)


def exists(admin: AdminClient, topic: str) -> bool:
    """Whether the topic is there; asking does not create it."""
    future = admin.describe_topics(ck.TopicCollection([topic]), request_timeout=30)[topic]
    try:
        future.result(60)
    except ck.KafkaException as e:
        if e.args[0].code() in (ck.KafkaError.UNKNOWN_TOPIC_OR_PART, ck.KafkaError._UNKNOWN_TOPIC):
            return False
        raise ConnectError(f"Error while attempting to describe topic '{topic}'") from broker_error(e.args[0])
    return True


def create(admin: AdminClient, settings: TopicSettings) -> None:
    """Create the topic, unless somebody was faster. Raises ConnectError."""
    configs = {name: str(value) for name, value in settings.configs.items()}
    new = NewTopic(settings.name, settings.partitions, settings.replication_factor, config=configs)
    try:
        admin.create_topics([new], operation_timeout=30)[settings.name].result(60)
    except ck.KafkaException as e:
        error: ck.KafkaError = e.args[0]
        if error.code() == ck.KafkaError.TOPIC_ALREADY_EXISTS:
            return
        if error.code() in _REFUSED:
            shown = (
                f"(name={settings.name}, numPartitions={_shown(settings.partitions)}, "
                f"replicationFactor={_shown(settings.replication_factor)}, replicasAssignments=null, "
                f"configs={java_text(configs)})"
            )
            raise ConnectError(
                f"Task failed to create new topic {shown}. Ensure that the task is authorized to create topics or that "
                "the topic exists and restart the task"
            ) from broker_error(error)
        raise ConnectError(f"Error while attempting to create/find topic(s) '{settings.name}'") from broker_error(error)
    log.info(
        "Created topic '%s' with %d partitions, replication factor %d and settings %s",
        settings.name,
        settings.partitions,
        settings.replication_factor,
        configs,
    )


def _shown(number: int) -> str:
    return "default" if number == -1 else str(number)
