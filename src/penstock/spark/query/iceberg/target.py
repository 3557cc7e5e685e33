"""The target of a sink's batches that is an Iceberg table in a catalog of the sink's own."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types as t

from penstock.api.errors import ConnectError
from penstock.api.query import BatchVersion
from penstock.connectors.spark.sink_settings import SinkSettings
from penstock.spark.query.dataframes import narrowed
from penstock.spark.query.iceberg.catalog import IcebergTable
from penstock.spark.query.iceberg.commits import Commits, TableGoneError
from penstock.spark.query.iceberg.files import FileWriter, WrittenTable
from penstock.spark.query.iceberg.marks import Generation, KnownBatch, Mark, known_in
from penstock.spark.query.limits import QueryLimits
from penstock.spark.query.safe import Safe, SafeReference
from penstock.spark.query.sink.progress import Partition, later_of
from penstock.spark.query.sink.rows.drift import written
from penstock.spark.query.sink.rows.pipeline import Rows
from penstock.spark.query.sink.tables.files import folder_name
from penstock.spark.query.sink.writer import raise_not_written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.spark.query.sink.tables.target import SinkOwner

log = logging.getLogger(__name__)

FILES = "files"
"""The one column of what executors return: the files that one of their tasks has written."""


class IcebergTarget:
    """Adds each batch once, see ``commits``; a SinkTarget, OffsetKeeper and ShapedTarget."""

    def __init__(self, settings: SinkSettings, owner: SinkOwner, safe: Safe, limits: QueryLimits) -> None:
        assert settings.iceberg is not None
        self._settings, self._iceberg, self._safe, self._limits = settings, settings.iceberg, safe, limits
        self._table = IcebergTable(settings.iceberg, settings.drift)
        self._sink = folder_name(*owner)
        mark = Mark(
            sink=self._sink,
            connector=owner.connector,
            group=owner.group,
            cluster=owner.cluster,
            generation=Generation(0, ""),
            version=BatchVersion("", 0),
        )
        self._commits = Commits(self._loaded, settings.iceberg.table, settings.iceberg.branch, mark)
        self._ends: Mapping[Partition, int] = {}
        self._topics: Mapping[str, str] = {}
        self._found: Any = None
        """The table as ``columns`` has found it, for ``shape``."""
        self._new = False
        """Whether there was no table when this run began, and no batch before it: batches without rows leave none."""

    def _loaded(self) -> Any:
        return self._checked(self._table.load())

    def _checked(self, table: Any) -> Any:
        """Raises ConfigError for a table whose files are not in the allowed folders."""
        places = table.location_provider()
        for place in (table.location(), places.data_path, places.metadata_path):
            self._limits.check_folder("iceberg.tables", place)
        return table

    def later(self, version: BatchVersion) -> BatchVersion | None:
        """Raises TableGoneError if there is no table, though batches were written before this one."""
        known = self._known()
        if known is None:
            self._check_new(version)
            return None
        latest = known.latest
        return None if latest is None else later_of(version, {latest.epoch: latest.number})

    def committed_offsets(self) -> Mapping[Partition, int]:
        known = self._known()
        return {} if known is None or known.mark is None else known.mark.offsets

    def _known(self) -> KnownBatch | None:
        """Return the knowledge of the table, or None if there is none."""
        try:
            table = self._table.find()
            return None if table is None else known_in(table, self._iceberg.branch, self._sink)
        except Exception as error:
            raise_not_written(error)

    def _check_new(self, version: BatchVersion) -> None:
        """Raise TableGoneError if the table that is missing has had batches before this one."""
        self._new = self._new or version.number <= 1
        if self._commits.claimed or not self._new:
            raise TableGoneError(self._table.name)

    def begin(self, version: BatchVersion, offsets: Mapping[Partition, int]) -> None:
        """Fence earlier runs; a table that does not exist yet has none."""
        try:
            if self._table.find() is None:
                self._check_new(version.next())
                if self._iceberg.creates:
                    return
            if offsets or not self._commits.claimed:
                self._commits.claim(version, offsets, new=self._new and not self._commits.claimed)
        except Exception as error:
            raise_not_written(error)

    def covers(self, ends: Mapping[Partition, int], topics: Mapping[str, str]) -> None:
        self._ends, self._topics = ends, topics

    def skip(self, version: BatchVersion) -> None:
        try:
            self.add_nothing(version, lambda: None)
        except Exception as error:
            raise_not_written(error)

    @property
    def ignores_case(self) -> bool:
        return self._iceberg.ignores_case

    def shape(self, columns: t.StructType) -> t.StructType:
        """Create the table for records of these columns, or change it; return the columns that rows of it take.

        Raises ConnectError if the records do not fit, or if a table that had batches is missing.
        """
        found, self._found = self._found or self._table.find(), None
        if found is None and (self._commits.claimed or not self._new):
            raise TableGoneError(self._table.name)
        table = self._table.prepared(columns, found)
        return written(columns, self._table.columns(table), ignores_case=self._iceberg.ignores_case)

    def columns(self) -> t.StructType | None:
        self._found = self._table.find()
        return None if self._found is None else self._table.columns(self._found)

    def add(self, frame: DataFrame, version: BatchVersion, confirm: Callable[[], None]) -> None:
        """Write the rows of a frame, as of the setting ``sql``."""
        if not self.shape(frame.schema).names:
            names = ", ".join(frame.schema.names)
            raise ConnectError(f"{self._table.name} has none of the columns that sql selects: {names}")
        self._write(frame, None, version, confirm)

    def add_records(self, records: DataFrame, rows: Rows, version: BatchVersion, confirm: Callable[[], None]) -> None:
        """Write the rows that ``rows`` makes of records, in the process that makes them."""
        self._write(records, rows, version, confirm)

    def add_nothing(self, version: BatchVersion, confirm: Callable[[], None]) -> None:
        """Commit the offsets of a batch without rows, if there is a table."""
        if self._table.find() is None:
            self._check_new(version)
        else:
            self._write(None, None, version, confirm)

    def _write(
        self, frame: DataFrame | None, rows: Rows | None, version: BatchVersion, confirm: Callable[[], None]
    ) -> None:
        commits = self._commits
        # Confirmed before the claim, by which a run that has a successor would fence it, and before the commit.
        confirm()
        if not commits.claimed:  # the first batch of a table, or one that an earlier run has left
            commits.claim(BatchVersion(version.epoch, version.number - 1), new=self._new)
        if commits.has(version):
            log.info("%s has batch %s-%d", self._table.name, version.epoch, version.number)
            return
        files = [] if frame is None else self._files(frame, rows, version)
        commits.commit(files, version, self._ends, self._topics, confirm)

    def _files(self, frame: DataFrame, rows: Rows | None, version: BatchVersion) -> list[Any]:
        """Have Spark's executors write the rows; return pyiceberg's descriptions of the files."""
        description = WrittenTable.of(
            self._commits.table,
            self._iceberg.write_properties,
            ignores_case=self._iceberg.ignores_case,
            prefix=f"{self._commits.generation}-{version.epoch}-{version.number}",
        )
        reference = self._safe.keep(description.encoded())
        try:
            # Narrowed before, so that one process writes the rows of several partitions of topics to the same files.
            found = narrowed(frame).mapInArrow(DataFiles(reference, rows), f"{FILES} BINARY").collect()
        finally:
            self._safe.forget(reference)
        return [file for row in found for file in pickle.loads(row[0])]


@dataclass(frozen=True, slots=True)
class DataFiles:
    """The function of ``mapInArrow`` that writes rows to files: those of ``rows``, or those that it gets."""

    table: SafeReference
    rows: Rows | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        writer = FileWriter(WrittenTable.decoded(self.table.contents()))
        try:
            if self.rows is None:
                for batch in batches:
                    made = writer.shape.rows(pa.StructArray.from_arrays(batch.columns, fields=list(batch.schema)))
                    writer.write(pa.RecordBatch.from_struct_array(made))
            else:
                with closing(self.rows.made(batches, writer.shape.rows)) as own:
                    for batch in own:
                        writer.write(batch)
            files = writer.close()
        except BaseException:
            writer.abandon()
            raise
        if files:
            yield pa.record_batch({FILES: pa.array([pickle.dumps(files)], pa.binary())})
