"""Transfer of a batch's rows to their topics: the protocol, and by way of the task. ``executors`` has the other way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from penstock.api.batch import Batch
from penstock.spark.query.dataframes import narrowed
from penstock.spark.query.source.partitions import BatchLostError
from penstock.spark.query.source.sending import Records
from penstock.spark.query.source.transport import SENT, Receiver

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class BatchEnd:
    """The end of a batch, after its last row."""

    number: int


class Transfer(Protocol):
    """Transfer of rows. ``take`` is called by the task's thread, ``run`` by Spark's, for one batch after the other."""

    sent_by: str
    """Sender of the records: the ``driver`` or the ``executors``."""

    def run(self, rows: DataFrame, records: Records, number: int) -> None:
        """Transfer rows; returns when all have been taken or sent.

        Raises BatchLostError if the batch has to begin again, and Spark's errors.
        """

    def take(self, seconds: float) -> Batch | BatchEnd | None:
        """Return records for the task to send, or the end of the batch, once all of it has been taken or sent.

        None if nothing comes for so long. Raises ConnectError if records can't be sent.
        """

    def close(self) -> None:
        """Called from any thread: nothing more is taken."""


class ToTask:
    """Transfer by the task, which sends the rows: exactly once needs one producer for all rows of a batch."""

    sent_by = "driver"

    def __init__(self, host: str) -> None:
        """``host``: this machine's name for Spark's processes."""
        self._receiver = Receiver(host)
        self._records: Records

    def run(self, rows: DataFrame, records: Records, number: int) -> None:
        self._records = records
        send = self._receiver.expect()
        try:
            answers = narrowed(rows).mapInArrow(send, f"{SENT} BIGINT").collect()
            self._receiver.finish(sum(row[0] for row in answers), BatchEnd(number))
        except BatchLostError:
            raise
        except Exception:
            self._receiver.check()
            raise

    def take(self, seconds: float) -> Batch | BatchEnd | None:
        item = self._receiver.take(seconds)
        return item if item is None or isinstance(item, BatchEnd) else self._records(item)

    def close(self) -> None:
        self._receiver.close()
