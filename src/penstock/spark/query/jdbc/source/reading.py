"""One read of a table: ranges of it, a few at a time, each by a connection of one of Spark's executors.

The rows are taken range by range. While one is taken the others are read ahead, as far as memory allows.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from penstock.connectors.jdbc.source.settings import JdbcSourceSettings
from penstock.connectors.jdbc.source.windows import Select
from penstock.connectors.jdbc.sql_errors import SqlFailure, SqlVerdict
from penstock.spark.query.dataframes import full_text, root_cause
from penstock.spark.query.jdbc.java import JdbcJava, caused
from penstock.spark.query.jdbc.source.database import NoTableError
from penstock.spark.query.jdbc.source.records import ReadShape
from penstock.spark.query.source.transport import SENT, Receiver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

_CHANGED = "penstock: the columns have changed"
_UNREADABLE = "penstock: column "


@dataclass(frozen=True, slots=True)
class RangesEnd:
    """The end of some ranges, taken after their last row; ``last``: of all ranges."""

    last: bool


@dataclass(frozen=True, slots=True)
class Statements:
    """SELECTs of one read, with the labels of all columns.

    ``number`` and ``times``: the columns that give the position of a row, numbered from 1 (0: none).
    """

    selects: tuple[Select, ...]
    labels: tuple[str, ...]
    shape: ReadShape
    number: int = 0
    times: tuple[int, ...] = ()


class ReadError(Exception):
    """A read has failed.

    ``permanent``: it would fail again. ``changed``: the table has other columns now. ``failure``: the database's, if it
    is the cause; ``passes``: whether that passes.
    """

    def __init__(self, error: BaseException, failure: SqlFailure | None = None, passes: bool = True) -> None:
        text = full_text(error)
        self.failure = failure
        self.changed = _CHANGED in text
        unreadable = _UNREADABLE in text
        self.permanent = not self.changed and not passes
        found = str(failure or root_cause(error))
        if unreadable and (failure is None or not passes):
            self.permanent = True
            found = text[text.index(_UNREADABLE) + len("penstock: ") :]
        super().__init__(found.splitlines()[0])


class TableRead:
    """A read that is running in a thread of its own.

    The task calls ``check`` now and then while it takes the rows, and ``cancel`` before another read begins.
    """

    def __init__(
        self,
        session: SparkSession,
        java: JdbcJava,
        receiver: Receiver,
        settings: JdbcSourceSettings,
        statements: Statements,
        entered: Callable[[], None],
    ) -> None:
        self._session, self._java, self._receiver, self._settings = session, java, receiver, settings
        self._statements, self._entered = statements, entered
        self._group = f"jdbc-{uuid.uuid4()}"
        self._failure: BaseException | None = None
        self._cancelled = False
        self._thread = threading.Thread(target=self._run, name=self._group, daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise ReadError if the read has failed, NoTableError if its table does not exist any more."""
        error = self._failure
        if error is None:
            return
        failure, errors = self._java.sql_error(error), self._settings.connection.dialect.errors
        if failure is not None and self._java.is_missing_table(error):
            raised: Exception = NoTableError(str(failure))
        else:
            raised = ReadError(error, failure, failure is None or errors.verdict(failure) is SqlVerdict.TRANSIENT)
        raise raised if failure is None else caused(raised, failure)

    def cancel(self) -> None:
        """End the read; returns when it has ended."""
        self._cancelled = True
        self._receiver.abandon()
        while self._thread.is_alive():
            self._session.sparkContext.cancelJobGroup(self._group)
            self._thread.join(0.1)

    def _run(self) -> None:
        self._entered()
        try:
            jvm: Any = self._session._jvm
            loader = self._session._jsparkSession.sharedState().jarClassLoader()
            jvm.java.lang.Thread.currentThread().setContextClassLoader(loader)
            self._session.sparkContext.setJobGroup(self._group, "rows of a database", True)
            width = self._settings.partitions or self._session.sparkContext.defaultParallelism
            selects = self._statements.selects
            waves = [selects[i : i + width] for i in range(0, len(selects), width)]
            for number, wave in enumerate(waves, 1):
                if self._cancelled:
                    return
                self._read(wave, RangesEnd(number == len(waves)))
        except BaseException as error:
            self._failure = error

    def _read(self, selects: Sequence[Select], end: RangesEnd) -> None:
        frame = DataFrame(self._reader(selects).rows(self._session._jsparkSession), self._session)
        send = self._receiver.expect(len(selects))
        answers = frame.mapInArrow(send, f"{SENT} BIGINT").collect()
        self._receiver.finish(sum(row[0] for row in answers), end)

    def _reader(self, selects: Sequence[Select]) -> Any:
        java, found, settings = self._java, self._statements, self._settings
        fields = found.shape.fields
        reader = java.entry.reader(
            java.connections,
            java.list(found.labels),
            java.list([field.reading for field in fields]),
            java.list([field.scale for field in fields]),
            java.list([field.column for field in fields]),
            found.number,
            java.list(found.times),
            settings.batch_rows,
            settings.isolation,
            settings.connection.zone,
        )
        for select in selects:
            reader.add(select.sql, java.list(select.parameters))
        return reader
