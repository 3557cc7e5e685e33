"""Creates topics before a source task writes to them, if a rule of the connector says how (KIP-158).

The task may change the settings (``SourceTask.settings_for_new_topic``); every decision is logged. Java:
``AbstractWorkerSourceTask.maybeCreateTopic``, ``TopicAdmin.createOrFindTopics``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.api.errors import ConnectError, RetriableError
from penstock.api.topic_settings import TopicSettings
from penstock.core.topic_creation.groups import TopicCreation
from penstock.java.text import java_text
from penstock.kafka.admin import answer, is_unreached
from penstock.kafka.security.authorization import missing_right
from penstock.kafka.topic_guard import TopicGuard
from penstock.pipeline.broker_errors import broker_error

log = logging.getLogger(__name__)

WAIT_SECONDS = 10
"""The time to wait for the brokers' answer; without one they are asked again, unless the task is stopped."""

_FORBIDDEN = (ck.KafkaError.CLUSTER_AUTHORIZATION_FAILED, ck.KafkaError.TOPIC_AUTHORIZATION_FAILED)
_UNKNOWN = (ck.KafkaError.UNKNOWN_TOPIC_OR_PART, ck.KafkaError._UNKNOWN_TOPIC)


Principal = Callable[[], str]
"""Gives the name of the client in access control lists; called when something is not allowed."""


def creates_topics(worker: Mapping[str, str]) -> bool:
    """Return whether a worker with these settings creates topics by the rules of connectors."""
    return worker.get("topic.creation.enable", "true").strip().lower() == "true"


class TopicCreator:
    """Creates each topic once, unless it exists. ``adjust`` is ``SourceTask.settings_for_new_topic``."""

    def __init__(
        self,
        make_admin: Callable[[], AdminClient],
        rules: TopicCreation,
        adjust: Callable[[TopicSettings], TopicSettings | None],
        principal: Principal | None = None,
        guard: TopicGuard | None = None,
    ) -> None:
        """``guard``: of the admin client, which may have other brokers than the producer; what it refuses is not
        created.
        """
        self._guard = guard
        self._make_admin, self._rules, self._adjust, self._principal = make_admin, rules, adjust, principal
        self._admin: AdminClient | None = None
        self._checked: set[str] = set()

    def ensure(self, topics: Iterable[str]) -> None:
        """Create those of the topics that a rule wants; called with the topics of every batch.

        Raises ConnectError for a topic that should be created and can't be, RetriableError while the brokers don't
        answer.
        """
        if not self._rules.rules:
            return
        new = set(topics) - self._checked
        creatable = self._guard.usable(new, writing=True) if self._guard is not None and new else new
        for topic in new:
            if topic in creatable:
                self._ensure(topic)
            self._checked.add(topic)

    def _ensure(self, topic: str) -> None:
        log.info("The task will send records to topic '%s' for the first time. Checking whether topic exists", topic)
        if self._admin is None:
            self._admin = self._make_admin()
        if exists(self._admin, topic, self._principal):
            log.info("Topic '%s' already exists.", topic)
            return
        spec = self._rules.spec_for(topic)
        if spec is None:
            log.info("No topic creation rule matches topic '%s': its creation is left to the broker", topic)
            return
        settings = self._adjust(TopicSettings(topic, spec.partitions, spec.replication_factor, spec.configs))
        if settings is None:
            log.info("The task wants topic '%s' not to be created by the worker: it is left to the broker", topic)
            return
        log.info("Creating topic '%s'", topic)
        if create(self._admin, settings, self._principal):
            log.info("Created topic '%s' using rule %s", _described(settings), spec.rule_name)
        else:
            log.info("Found existing topic '%s'", topic)


def exists(admin: AdminClient, topic: str, principal: Principal | None = None) -> bool:
    """Return whether the topic exists; asking does not create it."""
    future = admin.describe_topics(ck.TopicCollection([topic]), request_timeout=WAIT_SECONDS)[topic]
    try:
        answer(future, WAIT_SECONDS)
    except ck.KafkaException as e:
        if _code(e) in _UNKNOWN:
            return False
        if is_unreached(e):
            raise RetriableError(f"Timed out while describing topics '{topic}'") from _cause(e)
        if _code(e) in _FORBIDDEN:
            failed = f"Not authorized to describe topic(s) '{topic}'"
            raise ConnectError(failed) from _refusal(e, principal, "DESCRIBE", topic)
        raise ConnectError(f"Error while attempting to describe topics '{topic}'") from _cause(e)
    return True


def create(admin: AdminClient, settings: TopicSettings, principal: Principal | None = None) -> bool:
    """Create the topic; False if it has been created meanwhile. Raises ConnectError."""
    configs = {name: java_text(value) for name, value in settings.configs.items()}
    new = NewTopic(settings.name, settings.partitions, settings.replication_factor, config=configs)
    try:
        created = admin.create_topics([new], operation_timeout=WAIT_SECONDS, request_timeout=WAIT_SECONDS)
        answer(created[settings.name], WAIT_SECONDS)
    except ck.KafkaException as e:
        if _code(e) == ck.KafkaError.TOPIC_ALREADY_EXISTS:
            return False
        if is_unreached(e):
            raise RetriableError(f"Timed out while checking for or creating topic '{settings.name}'") from _cause(e)
        if _code(e) in (*_FORBIDDEN, ck.KafkaError.UNSUPPORTED_VERSION):
            raise ConnectError(
                f"Task failed to create new topic {_described(settings)}. Ensure that the task is authorized to "
                "create topics or that the topic exists and restart the task"
            ) from _refusal(e, principal, "CREATE", settings.name)
        cause = _cause(e)
        if _code(e) in (ck.KafkaError.INVALID_CONFIG, ck.KafkaError.INVALID_REPLICATION_FACTOR):
            raise ConnectError(f"Unable to create topic(s) '{settings.name}': {cause}") from cause
        raise ConnectError(f"Error while attempting to create/find topic(s) '{settings.name}'") from cause
    except ValueError as e:  # librdkafka's, for numbers out of range
        raise ConnectError(f"Error while attempting to create/find topic(s) '{settings.name}'") from e
    return True


def _code(error: ck.KafkaException) -> int:
    code: int = error.args[0].code()
    return code


def _cause(error: ck.KafkaException) -> Exception:
    return broker_error(error.args[0])


def _refusal(error: ck.KafkaException, principal: Principal | None, right: str, topic: str) -> Exception:
    """Return the broker's refusal, with the principal and the right that it lacks if they are known."""
    cause = _cause(error)
    missing = None if principal is None else missing_right(_code(error), principal(), right, topic)
    return cause if missing is None else type(cause)(missing)


def _described(settings: TopicSettings) -> str:
    """Return a new topic as Java prints it."""

    def number(value: int) -> str:
        return "default" if value == -1 else str(value)

    return (
        f"(name={settings.name}, numPartitions={number(settings.partitions)}, "
        f"replicationFactor={number(settings.replication_factor)}, replicasAssignments=null, "
        f"configs={java_text(settings.configs)})"
    )
