"""The errors of a task whose transaction can't go on: it is lost if another run can continue, and else has failed."""

from __future__ import annotations

import confluent_kafka as ck

from penstock.api.errors import ConnectError
from penstock.core.model.tasks import TaskId
from penstock.pipeline.broker_errors import is_away, is_fenced, is_forgotten
from penstock.pipeline.task import TaskFencedError

_TIMED_OUT = (
    "The task {} was unable to finish writing records to Kafka before its producer transaction expired, or a newer "
    "run of it has taken its place. If it was too slow: tune the connector's producer configuration for higher "
    "throughput, increase its transaction.timeout.ms, decrease the interval (with transaction.boundary=interval), "
    "or use transaction.boundary=poll."
)


def unsent(task: TaskId, error: ck.KafkaError) -> ConnectError:
    """Return the error for a transaction that can't be ended, or a record that can't be sent in it."""
    return failure(task, error, f"Failed to flush offsets and/or records for task {task}")


def failure(task: TaskId, error: ck.KafkaError, otherwise: str) -> ConnectError:
    """Return the error for a step of a transaction. Another run, or the same one once the brokers answer again,
    continues after a TaskFencedError.

    Java's producer has no limit of time in Connect; librdkafka's gives up when the transaction's time is over, by which
    the brokers, when they are back, have aborted it. Where they have forgotten the transactional id, nothing of the
    transaction is there, so that a new run can begin it again.
    """
    if is_fenced(error):
        return TaskFencedError(_TIMED_OUT.format(task))
    if is_away(error):
        return TaskFencedError(f"{otherwise}: the brokers have not answered in time")
    if is_forgotten(error):
        return TaskFencedError(
            f"{otherwise}: the brokers have forgotten its transactional id, as they do transactional.id.expiration.ms "
            "after the last transaction"
        )
    return ConnectError(otherwise)
