"""Missing rights as an administrator must grant them: principal, operation, resource.

Brokers say only that something is not allowed. The words before the colon are Java's.
"""

from __future__ import annotations

from confluent_kafka import KafkaError as BrokerError

from penstock.api.errors import ConnectError

REFUSALS = {
    BrokerError.TOPIC_AUTHORIZATION_FAILED: "Not authorized to access topics: [{}]",
    BrokerError.GROUP_AUTHORIZATION_FAILED: "Not authorized to access group: {}",
    BrokerError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
    BrokerError.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
}
_KINDS = {
    BrokerError.TOPIC_AUTHORIZATION_FAILED: "Topic",
    BrokerError.GROUP_AUTHORIZATION_FAILED: "Group",
    BrokerError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "TransactionalId",
    BrokerError.CLUSTER_AUTHORIZATION_FAILED: "Cluster",
}


class NotAllowedError(ConnectError):
    """An administrator of the Kafka cluster has to grant something."""


def missing_right(code: int | None, principal: str, rights: str, name: str) -> str | None:
    """The sentence for this code of a broker; None if it means something else.

    ``rights`` are Kafka's operations, such as ``READ``; ``name`` is that of the topic, group or transactional id.
    """
    if code not in REFUSALS:
        return None
    name = "kafka-cluster" if code == BrokerError.CLUSTER_AUTHORIZATION_FAILED else name
    return f"{REFUSALS[code].format(name)} ({principal} needs {rights} on {_KINDS[code]}:{name})"
