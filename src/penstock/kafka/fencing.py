"""Fencing of source tasks of an old generation, so that none of them can commit a transaction any more (KIP-618).

Java asks the brokers by ``Admin.fenceProducers``; librdkafka's way to the same end is to claim each transactional id,
with the connector's own settings, and to release it. Java: ``Worker.fenceZombies``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from confluent_kafka import KafkaError, KafkaException

from penstock.api.errors import ConnectError
from penstock.kafka.admin import code_of, sentence
from penstock.kafka.background import OnAnswer, in_background
from penstock.kafka.client_settings import connector_producer, transactional_producer
from penstock.kafka.clients import init_transactions, new_producer
from penstock.kafka.security.authorization import missing_right
from penstock.kafka.security.settings import Security

log = logging.getLogger(__name__)

Settings = Mapping[str, str]

_AT_ONCE = 8
TIMEOUT_S = 60.0

FENCING_IMPOSSIBLE = frozenset(
    {
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.UNSUPPORTED_VERSION,
        KafkaError._UNSUPPORTED_FEATURE,
        KafkaError.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    }
)
"""The errors of a claim that say that the brokers don't know transactions or don't allow them."""


def transactional_id(group_id: str, connector: str, task: int) -> str:
    """The transactional id of a source task, as Java names it."""
    return f"{group_id}-{connector}-{task}"


def fence(
    worker: Settings, connector: Settings, tasks: int, on_done: OnAnswer[None], timeout: float = TIMEOUT_S
) -> None:
    """Fence the producers of tasks 0 to ``tasks`` - 1 of this connector (its configuration, with ``name``).

    Returns at once. Done with ConnectError if a task could not be fenced within ``timeout`` seconds: it may still be at
    work, so its successor must not start.
    """
    in_background(f"fence-{connector['name']}", lambda: _fence(worker, connector, tasks, timeout), on_done)


def fence_task(worker: Settings, connector: Settings, task: int, timeout: float = TIMEOUT_S) -> None:
    """Fence the producer of one task; its offsets can be read without waiting for its open transaction after that.

    Blocks. Raises ConnectError if that can't be done within ``timeout`` seconds.
    """
    name = connector["name"]
    id = transactional_id(worker["group.id"], name, task)
    producer = new_producer(transactional_producer(worker, connector, f"connector-fencer-{name}-{task}", id))
    try:
        init_transactions(producer, timeout)
    except KafkaException as e:
        principal = Security.of(connector_producer(worker, connector, "")).principal
        right = missing_right(code_of(e), principal, "WRITE and DESCRIBE", id)
        raise ConnectError(f"The producer of task {name}-{task} could not be fenced: {right or sentence(e)}") from e


def query_transactional_id(group_id: str | None, connector: str) -> str:
    """The transactional id of the one task of a sink that is a query; a standalone worker has no group."""
    return transactional_id(group_id or "connect", connector, 0)


def fence_query(worker: Settings, connector: Settings, timeout: float = TIMEOUT_S) -> None:
    """Fence the query of a sink, wherever it may still be at work: it commits no offsets any more.

    Does nothing where the brokers don't know or don't allow transactions, which the query then does not use either.
    Blocks. Raises ConnectError if that can't be done within ``timeout`` seconds.
    """
    name = connector["name"]
    id = query_transactional_id(worker.get("group.id"), name)
    producer = new_producer(transactional_producer(worker, connector, f"connector-fencer-{name}-0", id))
    try:
        init_transactions(producer, timeout)
    except KafkaException as e:
        if code_of(e) not in FENCING_IMPOSSIBLE:
            raise ConnectError(f"The query of connector {name} could not be fenced: {sentence(e)}") from e
        log.warning("The query of connector %s can't be fenced: %s", name, sentence(e))


def _fence(worker: Settings, connector: Settings, tasks: int, timeout: float) -> None:
    deadline = time.monotonic() + timeout

    def claim(task: int) -> None:
        left = deadline - time.monotonic()
        if left <= 0:  # the next try may have succeeded by now, and its tasks be at work
            raise ConnectError(f"There was no time left for task {connector['name']}-{task} to be fenced")
        fence_task(worker, connector, task, left)

    if tasks:
        with ThreadPoolExecutor(min(tasks, _AT_ONCE), thread_name_prefix=f"fence-{connector['name']}") as pool:
            list(pool.map(claim, range(tasks)))
