"""Writes a batch: from the records that Spark has read to the rows in the target.

Spark must know the columns of a table before it writes the first row. Unless the connector declares them, they are
those of the first records; when later records have others, the batch is written again from its start with all of them.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn, Protocol, runtime_checkable

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, ArithmeticException, DateTimeException, IllegalArgumentException
from pyspark.sql import types as t

from penstock.api.drift import SchemaDrift
from penstock.api.errors import ConfigError, ConnectError
from penstock.api.query import BatchVersion, OffsetKeeper, OffsetRecorder, SinkTarget
from penstock.connectors.spark.sink_settings import SinkSettings
from penstock.hosts.errors import HostLost
from penstock.spark.query.dataframes import declared, full_text, narrowed, root_cause
from penstock.spark.query.safe import SafeSpec
from penstock.spark.query.sink.progress import Partition
from penstock.spark.query.sink.rows.columns import VALUE, check_declared, merged
from penstock.spark.query.sink.rows.keys import Keys
from penstock.spark.query.sink.rows.pipeline import Rows
from penstock.spark.query.sink.rows.plan import CHANGE, EXTRAS, SCHEMA_COLUMN, RowPlan, reported
from penstock.spark.query.sink.rows.refused import Refused, RefusedRows, refusal
from penstock.spark.query.sink.rows.row_maker import SINK_CLASS
from penstock.spark.query.sink.tables.constraints import REFUSES, VIOLATED, refused_rows
from penstock.spark.query.sink.tables.evolution import Evolution
from penstock.spark.query.sink.totals import BatchTotals, SumOf, TotalsOfParts
from penstock.spark.query.sql.select import SqlSelect
from penstock.spark.versions import condition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOTHING = t.StructType([t.StructField("value", t.StringType())])
HOPELESS = (
    ConfigError,
    ConnectError,
    AnalysisException,
    ArithmeticException,
    DateTimeException,
    IllegalArgumentException,
)
"""Errors of the rows or of the statement, which another try would raise again."""
LACKING = re.compile("No suitable driver|ClassNotFoundException|NoClassDefFoundError")
_HEADERS = "flatten(transform(headers, header -> array(CAST(header.key AS BINARY), header.value)))"
_LISTED = f"ifnull({_HEADERS}, CAST(array() AS ARRAY<BINARY>)) AS headers"
RECORDS = ("topic", "partition", "offset", "timestamp", "timestampType", "key", "value", _LISTED)
"""The columns of Kafka's records that ``row_maker.raw_batch`` takes; of headers, keys and values in turn.

Never null: Spark asks its Arrow writer after each row how large the batch has become, and for lists that are null this
takes longer with each row of it; in the end most of the time.
"""
MAX_REFUSED = 10_000
"""Maximum number of refused rows whose messages the driver has at a time; more are reported in several passes."""
PROBED = 100
"""Records that are searched for their columns first; all are if none of them has a value."""


class PipelineError(ConnectError):
    """The pipeline failed in one of Spark's processes; ``text`` is the whole trace from there."""

    def __init__(self, text: str) -> None:
        super().__init__(text.split("\n", 1)[0])
        self.text = text


class NotWrittenError(ConnectError):
    """A batch could not be written for now: its target is down, or full. ``text`` is all that Spark says."""

    def __init__(self, error: BaseException, cause: str | None = None) -> None:
        """``cause``: the error of the target, if it is known better than by Spark's text."""
        super().__init__(f"A batch could not be written: {cause or root_cause(error)}")
        self.text = full_text(error)


def raise_not_written(error: Exception) -> NoReturn:
    """Raises the error by which a batch could not be written, or NotWrittenError if another try may help."""
    if isinstance(error, HOPELESS) and not is_away(error):
        raise error
    if LACKING.search(cause := root_cause(error)):
        raise ConnectError(
            f"{cause}: its jar has to be in spark.jars of the worker, for jdbc its class in option.driver"
        ) from error
    raise NotWrittenError(error) from error


@runtime_checkable
class ShapedTarget(SinkTarget, Protocol):
    """A target that brings the columns of its table and those of records together.

    With ``schema.drift=dead-letter`` records that do not fit the table are refused one by one.
    """

    @property
    def ignores_case(self) -> bool:
        """Whether columns are found without regard to upper and lower case."""

    def shape(self, columns: t.StructType) -> t.StructType:
        """Bring the table and records of these columns together; return the columns of rows.

        Raises ConnectError if they contradict each other.
        """

    def columns(self) -> t.StructType | None:
        """Return the columns of the table, or None if there is none yet."""

    def add_records(self, records: DataFrame, rows: Rows, version: BatchVersion, confirm: Callable[[], None]) -> None:
        """Write the rows that ``rows`` makes of Kafka's records, as ``add``."""

    def add_nothing(self, version: BatchVersion, confirm: Callable[[], None]) -> None:
        """Take notice of a batch without rows, as ``add``."""


class RowTrial(Protocol):
    """Finds the rows that a target refuses, where its writer does not say which they are."""

    def refuses(self, error: Exception) -> bool:
        """Return whether the target has refused a row. Raises ConnectError if it refuses the whole batch."""

    def refused(self, rows: DataFrame, most: int) -> Refused:
        """Return rows that the target refuses, at most this number; ``rows`` has the columns of CHANGE too."""


class DeltaTrial:
    """Finds the rows that a Delta table refuses."""

    def __init__(self, settings: SinkSettings) -> None:
        self._settings = settings

    def refuses(self, error: Exception) -> bool:
        return REFUSES.search(full_text(error)) is not None

    def refused(self, rows: DataFrame, most: int) -> Refused:
        return refused_rows(rows, self._settings, most)


class BatchWriter:
    """Writes batches of one run to ``target``; ``select`` is the checked ``sql``, if there is one.

    ``tolerates``: whether records whose rows a table refuses are left out (``errors.tolerance=all``).
    """

    def __init__(
        self,
        spec: SafeSpec,
        settings: SinkSettings,
        session: SparkSession,
        target: SinkTarget,
        select: SqlSelect | None = None,
        *,
        tolerates: bool,
        trial: RowTrial | None = None,
    ) -> None:
        self._spec, self._settings, self._target, self._select = spec, settings, target, select
        self._evolution = Evolution(settings, session)
        self._totals = session.sparkContext.accumulator(TotalsOfParts(), SumOf())
        self._letter_totals = session.sparkContext.accumulator(BatchTotals(), SumOf())
        self._tolerates = tolerates
        self._trial = DeltaTrial(settings) if settings.format == "delta" else trial
        self._refused: dict[Partition, set[int]] = {}
        """Offsets of records of the batch whose rows the table has refused; they are dead letters."""
        self._columns = None if settings.schema is None else declared(settings.schema)
        if self._columns is not None:
            check_declared(self._columns, settings.schema or "")
        self._keys = keys_of(settings, self._columns)
        self._zone = session.conf.get("spark.sql.session.timeZone") or "UTC"
        sql = settings.sql or ""
        self._extras = tuple(name for name in EXTRAS.names if re.search(rf"\b{name}\b", sql) or "*" in sql)

    def later(self, version: BatchVersion) -> BatchVersion | None:
        """Return the last batch that the target knows, see ``SinkTarget.later``. Raises NotWrittenError if it can't be
        asked for now.
        """
        try:
            return self._target.later(version)
        except Py4JJavaError as error:
            raise_not_written(error)

    def committed_offsets(self) -> Mapping[tuple[str, int], int]:
        """Return the offsets that the target keeps, see ``OffsetKeeper``; none if it is no such target."""
        return self._target.committed_offsets() if isinstance(self._target, OffsetKeeper) else {}

    def covers(self, ends: Mapping[tuple[str, int], int], topics: Mapping[str, str]) -> None:
        """Hand the offsets of the next batch to a target that keeps them, see ``OffsetRecorder``."""
        if isinstance(self._target, OffsetRecorder):
            self._target.covers(ends, topics)

    def skip(self, version: BatchVersion) -> None:
        """Have such a target store the offsets of a batch that is not written."""
        if isinstance(self._target, OffsetRecorder):
            self._target.skip(version)

    def begin(self, version: BatchVersion, offsets: Mapping[tuple[str, int], int]) -> None:
        """Let the target fence earlier runs, see ``OffsetKeeper``."""
        if isinstance(self._target, OffsetKeeper):
            self._target.begin(version, offsets)

    def write(self, records: DataFrame, version: BatchVersion, confirm: Callable[[], None]) -> BatchTotals:
        """Write a batch of Kafka's records and return the totals; ``confirm`` as for ``SinkTarget.add``.

        Raises PipelineError, NotWrittenError, and Spark's errors for rows that can never be written.
        """
        records = records.selectExpr(*RECORDS)
        self._refused, self._letter_totals.value = {}, BatchTotals()
        while True:
            self._totals.value = TotalsOfParts()
            try:
                if not self._is_written(records, version, confirm):
                    continue
            except HostLost:
                raise
            except Exception as error:
                report = reported(full_text(error))
                if "columns" in report and self._columns is not None:
                    self._columns = merged(self._columns, _struct(report["columns"]))
                    continue
                if "trace" in report:
                    raise PipelineError(report["trace"]) from None
                raise_not_written(error)
            totals = self._totals.value.together()
            totals.add(self._letter_totals.value)
            return totals

    def _is_written(self, records: DataFrame, version: BatchVersion, confirm: Callable[[], None]) -> bool:
        """Write the batch. Returns False if the table refuses rows of it, which are left out from now on."""
        if isinstance(self._target, ShapedTarget):
            self._write_shaped(self._target, records, version, confirm)
            return True
        self._columns = self._columns or self._probe(records.limit(PROBED)) or self._probe(records)
        columns, accepted = self._columns, self._evolution.accepted()
        if columns is not None and accepted is not None:
            columns = t.StructType([each for each in columns if each.name.casefold() in accepted])
        if columns is None or not (accepted is None or len(columns)):
            # Records without values, or that can't be converted, which is to be reported.
            self._rows(records, NOTHING, accepted).write.format("noop").mode("overwrite").save()
            return True
        rows = self._evolution.kept(self._rows(records, columns, accepted), CHANGE.names)
        try:
            self._target.add(rows, version, confirm)
        except Exception as error:
            if self._trial is None or reported(full_text(error)) or not self._trial.refuses(error):
                raise
            self._refuse(records, columns, accepted, error)
            return False
        return True

    def _write_shaped(
        self, target: ShapedTarget, records: DataFrame, version: BatchVersion, confirm: Callable[[], None]
    ) -> None:
        """Write the batch to a target that says itself which columns its rows have."""
        self._columns = self._columns or self._probe(records.limit(PROBED)) or self._probe(records)
        if self._columns is None:
            self._rows(records, NOTHING, None).write.format("noop").mode("overwrite").save()
            target.add_nothing(version, confirm)
        elif self._select is not None:
            target.add(self._rows(records, self._columns, None), version, confirm)
        else:
            target.add_records(records, self._shaped_rows(target, self._columns), version, confirm)

    def _shaped_rows(self, target: ShapedTarget, columns: t.StructType) -> Rows:
        table, drift = target.columns(), self._settings.drift
        if table is not None and self._settings.schema is None and columns == NOTHING and VALUE not in table.names:
            plan = replace(self._plan(table, None, keyed=False), declared=True)
            plan = replace(plan, keys="drop" if drift is SchemaDrift.IGNORE else "refuse")
        else:
            plan = replace(self._plan(target.shape(columns), None, keyed=False), records=columns.json())
            if table is not None and drift is SchemaDrift.DEAD_LETTER:
                plan = replace(plan, fits=table.json())
        plan = replace(plan, exact=True, ignores_case=target.ignores_case)
        return Rows(self._spec, plan, self._totals, exact=True)

    def _refuse(
        self, records: DataFrame, columns: t.StructType, accepted: frozenset[str] | None, error: Exception
    ) -> None:
        """Report the rows that the table refuses, and leave them out from now on.

        Raises ConnectError if they are not tolerated, or not known, and Spark's errors as ``write`` gets them.
        """
        most = MAX_REFUSED if self._tolerates else 1
        known = False
        while found := self._found(records, columns, accepted, most):
            if not self._tolerates:
                raise refusal(found, self._settings.target) from error
            rows = records.mapInArrow(RefusedRows(self._spec, found, self._letter_totals, SINK_CLASS), "value STRING")
            rows.write.format("noop").mode("overwrite").save()
            for place, offsets in found.items():
                self._refused.setdefault(place, set()).update(offsets)
            known = True
            if sum(map(len, found.values())) < most:
                break
        if known:
            return
        if isinstance(self._trial, DeltaTrial) and not VIOLATED.search(full_text(error)):
            raise error
        raise ConnectError(f"{self._settings.target} refuses a row: {root_cause(error)}") from error

    def _found(self, records: DataFrame, columns: t.StructType, accepted: frozenset[str] | None, most: int) -> Refused:
        """Return rows that the table refuses, at most this number; none with ``sql``, whose rows have no records."""
        if self._select is not None or self._trial is None:
            return {}
        rows = self._rows(records, columns, accepted, placed=True)
        return self._trial.refused(self._evolution.kept(rows, CHANGE.names), most)

    def _probe(self, records: DataFrame) -> t.StructType | None:
        """Return the columns of the first values, or None if there are no values."""
        rows = Rows(self._spec, None, self._totals, self._keys, exact=isinstance(self._target, ShapedTarget))
        found = records.mapInArrow(rows, f"{SCHEMA_COLUMN} STRING").collect()
        return functools.reduce(merged, (_struct(row[0]) for row in found)) if found else None

    def _rows(
        self, records: DataFrame, columns: t.StructType, accepted: frozenset[str] | None, *, placed: bool = False
    ) -> DataFrame:
        """``placed``: a look at the rows, with the places of their records; failures are left to the writing."""
        plan = self._plan(columns, accepted, keyed=self._keys is not None or placed)
        rows = Rows(self._spec, plan, self._totals, self._keys, report=not placed)
        frame = narrowed(records.mapInArrow(rows, plan.row_type()))
        return frame if self._select is None or columns is NOTHING else self._select.of(frame)

    def _plan(self, columns: t.StructType, accepted: frozenset[str] | None, *, keyed: bool) -> RowPlan:
        return RowPlan(
            columns.json(),
            self._settings.schema is not None,
            self._extras,
            self._zone,
            tombstones=self._settings.sql is not None,
            keyed=keyed,
            orc=self._settings.format == "orc",
            accepted=accepted,
            refused={place: frozenset(offsets) for place, offsets in self._refused.items()},
            target=self._settings.target,
        )


def keys_of(settings: SinkSettings, columns: t.StructType | None) -> Keys | None:
    """Return the keys by which rows are changed, or None. Raises ConfigError if the declared columns lack it."""
    if settings.keys is None:
        return None
    if columns is not None and (lacking := [name for name in settings.keys if name not in columns.names]):
        raise ConfigError("schema", settings.schema, f"it lacks columns of pk.fields: {', '.join(lacking)}")
    return Keys(settings.keys, settings.deletes, declared=columns is not None)


def _struct(text: str) -> t.StructType:
    return t.StructType.fromJson(json.loads(text))


def is_away(error: BaseException) -> bool:
    """Whether the error is a lost connection to a database, which Spark reports as an error of the statement."""
    return isinstance(error, AnalysisException) and (condition(error) or "").startswith("FAILED_JDBC.CONNECTION")
