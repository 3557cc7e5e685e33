"""The topic of a log: created if it does not exist, and checked if it does.

Java: ``KafkaTopicBasedBackingStore`` and ``TopicAdmin``, with their words.
"""

from __future__ import annotations

from dataclasses import dataclass

from confluent_kafka.admin import AdminClient

from penstock.api.errors import ConfigError, ConnectError
from penstock.api.kafka import TopicSpec
from penstock.kafka.admin import Creation, code_of, create_topic, partition_counts, verify_only_compact
from penstock.kafka.security.authorization import NotAllowedError, missing_right

_TIMEOUT = 15.0
"""Seconds for each request to the brokers; it is repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTopic:
    """How the topic is created, and what it must be like."""

    spec: TopicSpec
    setting: str
    """The worker's setting that names the topic, for error messages."""
    purpose: str
    single_partition: bool = False
    compacted: bool = True
    """Whether it must be compacted and nothing else."""

    @property
    def name(self) -> str:
        return self.spec.name

    def ensure(self, admin: AdminClient, principal: str) -> int:
        """Create or check it; the result is the number of its partitions, 0 while brokers don't know it yet.

        Raises ConfigError if it is not as it must be, NotAllowedError if ``principal`` lacks a right, TopicTimeoutError
        if it makes sense to ask again, else ConnectError.
        """
        made = create_topic(admin, self.spec, _TIMEOUT)
        if made is not Creation.NEW and self.compacted:
            verify_only_compact(admin, self.name, self.setting, self.purpose, _TIMEOUT)
        try:
            count = partition_counts(admin, [self.name], _TIMEOUT).get(self.name, 0)
        except ConnectError as e:
            problem = missing_right(code_of(e.__cause__), principal, "DESCRIBE, READ and WRITE", self.name)
            raise NotAllowedError(problem) if problem else e from e.__cause__
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
