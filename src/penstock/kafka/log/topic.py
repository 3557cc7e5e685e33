"""The topic of a log: created if it does not exist, and checked if it does.

Java: ``KafkaTopicBasedBackingStore`` and ``TopicAdmin``, with their words.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka.admin import AdminClient

from penstock.api.errors import ConfigError, ConnectError
from penstock.api.kafka import TopicSpec
from penstock.kafka.admin import Creation, code_of, create_topic, partition_counts, verify_only_compact
from penstock.kafka.security.authorization import NotAllowedError, missing_right

AUTOMATIC_CREATION = "internal.topics.automatic.creation.enable"
_LOOKS = 3
_TIMEOUT = 15.0
"""Seconds for each request to the brokers; it is repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTopic:
    """Settings with which the topic is created, and its required properties."""

    spec: TopicSpec
    setting: str
    """The worker's setting that names the topic, for error messages."""
    purpose: str
    single_partition: bool = False
    compacted: bool = True
    """Whether it must be compacted and nothing else."""
    created: bool = True
    """Whether it is created if it is missing."""

    @property
    def name(self) -> str:
        return self.spec.name

    def ensure(self, admin: AdminClient, principal: str) -> int:
        """Create it, unless ``created`` is off, or check it; the result is the number of its partitions, 0 while
        brokers don't know it yet.

        Raises ConfigError if it is not as it must be, NotAllowedError if ``principal`` lacks a right, TopicTimeoutError
        if it makes sense to ask again, else ConnectError.
        """
        made = create_topic(admin, self.spec, _TIMEOUT) if self.created else self._found(admin, principal)
        if made is not Creation.NEW and self.compacted:
            verify_only_compact(admin, self.name, self.setting, self.purpose, _TIMEOUT)
        count = self._partitions(admin, principal)
        if count == 0 and made is Creation.NOT_ALLOWED:
            raise NotAllowedError(
                f"Topic '{self.name}' supplied via the '{self.setting}' property does not exist, and {principal} may "
                f"not create it: it needs CREATE on Topic:{self.name}, or the topic must be created for it"
            )
        if self.single_partition and count > 1:
            raise ConfigError(
                f"Topic '{self.name}' supplied via the '{self.setting}' property is required to have a single "
                f"partition in order to guarantee consistency of {self.purpose}, but found {count} partitions."
            )
        return count

    def _partitions(self, admin: AdminClient, principal: str) -> int:
        try:
            return partition_counts(admin, [self.name], _TIMEOUT).get(self.name, 0)
        except ConnectError as e:
            problem = missing_right(code_of(e.__cause__), principal, "DESCRIBE, READ and WRITE", self.name)
            raise NotAllowedError(problem) if problem else e from e.__cause__

    def _found(self, admin: AdminClient, principal: str) -> Creation:
        for _ in range(_LOOKS):  # a broker that has just started does not know all of its topics yet
            if self._partitions(admin, principal):
                return Creation.EXISTS
            time.sleep(1)
        raise ConnectError(
            f"Topic '{self.name}' specified via the '{self.setting}' property is missing. The config "
            f"'{AUTOMATIC_CREATION}' is set to 'false', so automatic creation of internal topics is disabled. "
            "Either enable automatic creation or create the topics manually."
        )


def creates_internal_topics(worker: Mapping[str, str]) -> bool:
    """Return whether a worker with these settings creates internal topics that are missing (Kafka 4.4)."""
    return worker.get(AUTOMATIC_CREATION, "true").strip().lower() != "false"
