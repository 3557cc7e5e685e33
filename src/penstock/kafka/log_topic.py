"""The topic of a log: made if it does not exist, and if it does, accepted only as it must be.

Java: ``KafkaTopicBasedBackingStore`` and ``TopicAdmin``, with their words.
"""

from __future__ import annotations

from dataclasses import dataclass

from confluent_kafka.admin import AdminClient

from penstock.api.errors import ConfigError
from penstock.kafka.admin import TopicSpec, create_topic, partition_counts, verify_only_compact


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTopic:
    """How the topic is made, and what it must be like."""

    spec: TopicSpec
    setting: str
    """The worker's setting that names the topic, for the person who must change it."""
    purpose: str
    single_partition: bool = False

    @property
    def name(self) -> str:
        return self.spec.name

    def ensure(self, admin: AdminClient) -> int:
        """Make or check it; the number of its partitions, 0 while brokers don't know it yet.

        Raises ConfigError if it is not as it must be, TopicTimeoutError if it makes sense to ask again, else
        ConnectError.
        """
        if not create_topic(admin, self.spec):
            verify_only_compact(admin, self.name, self.setting, self.purpose)
        count = partition_counts(admin, [self.name]).get(self.name, 0)
        if self.single_partition and count > 1:
            raise ConfigError(
                f"Topic '{self.name}' supplied via the '{self.setting}' property is required to have a single "
                f"partition in order to guarantee consistency of {self.purpose}, but found {count} partitions."
            )
        return count
