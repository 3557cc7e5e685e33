"""Targets of rows, which get each batch once where the format allows it.

- Folders of files: always once (``files``).
- Delta tables: once, by Delta's own record of which batches of an application it has; rows are added to them, or
  changed by their keys (``delta``).
- Iceberg tables in a catalog of the sink's own: once, by marks in their snapshots (``query.iceberg``).
- Everything else: at least once; after a crash the last batch may come a second time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from penstock.api.drift import SchemaDrift
from penstock.api.errors import ConnectError
from penstock.api.query import BatchVersion, SinkTarget
from penstock.connectors.spark.sink_settings import IN_FOLDERS, SinkSettings
from penstock.core.config.internal_topics import InternalTopicError, InternalTopics
from penstock.spark.query.dataframes import full_text
from penstock.spark.query.folder import folder_of
from penstock.spark.query.kafka_topics import WrittenTopics, is_kafka, refused_in
from penstock.spark.query.object_stores import check_connector, check_lists, check_log_store, prepare_log_store
from penstock.spark.query.sink.progress import later_of
from penstock.spark.query.sink.rows.plan import DELETED, PLACE
from penstock.spark.query.sink.tables.delta import batches_in_delta, latest, merge
from penstock.spark.query.sink.tables.evolution import columns_of_table
from penstock.spark.query.sink.tables.files import Files, folder_name
from penstock.spark.query.sink.tables.set_back import set_back
from penstock.spark.query.sink.text_formats import writer_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SinkOwner(NamedTuple):
    """The connector that batches belong to, by the id of its Kafka cluster and its group there."""

    cluster: str
    group: str
    connector: str


def _is_folder(settings: SinkSettings) -> bool:
    return settings.format in IN_FOLDERS and settings.path is not None and settings.mode == "append"


def writes_once(settings: SinkSettings) -> bool:
    """Return whether the target of a sink's batches gets each of them once."""
    return _is_folder(settings) or settings.format == "delta" or settings.iceberg is not None


def target_of(settings: SinkSettings, owner: SinkOwner, session: SparkSession, internal: InternalTopics) -> SinkTarget:
    """Make the target of a sink's batches. ``internal``: topics that ``format=kafka`` may not write to.

    Raises ConnectError for a path in an object store that can't be written to, or not once.
    """
    check_connector(session, "path", settings.path)
    if settings.format == "delta":
        check_log_store(session, settings.path)
        prepare_log_store(session, settings.path)
    if _is_folder(settings):
        check_lists(session, settings.path)
        return Files(settings, folder_name(*owner), folder_of(session, settings.path or ""))
    if settings.keys is not None:
        return TableMerger(settings, settings.keys, TableWriter(settings, owner.connector, session))
    if is_kafka(settings.format):
        return KafkaWriter(settings, owner.connector, session, internal)
    return TableWriter(settings, owner.connector, session)


class TableWriter:
    """Spark's own writer."""

    def __init__(self, settings: SinkSettings, connector: str, session: SparkSession) -> None:
        self._settings, self._connector, self._session = settings, connector, session

    def later(self, version: BatchVersion) -> BatchVersion | None:
        """Raises ConnectError for a Delta table that was set back."""
        if self._settings.format != "delta":
            return None
        return later_of(version, self._trusted(version))

    def check(self, version: BatchVersion) -> None:
        """Raise ConnectError if a Delta table was set back to before batches of this epoch."""
        if self._settings.format == "delta":
            self._trusted(version)

    def _trusted(self, version: BatchVersion) -> dict[str, int]:
        """Return the last batch of each epoch that the table has. Raises ConnectError as ``check``."""
        found = batches_in_delta(self._session, self._settings, self._connector)
        if (number := found.numbers.get(version.epoch)) is not None:
            read = folder_of(self._session, found.log).read
            lost = set_back(lambda each: read(f"{each:020}.json"), found.newest, self.application(version), number)
            if lost is not None:
                raise ConnectError(
                    f"{self._settings.target} was set back by {lost.operation} in its version {lost.version}, so that "
                    f"it lacks rows that this connector had written, up to batch {number}. Stop the connector, and "
                    "alter the offsets of all of its partitions to where the table's rows end, or reset them to begin "
                    "again as auto.offset.reset says (PATCH or DELETE /connectors/<name>/offsets)"
                )
        return found.numbers

    def application(self, version: BatchVersion) -> str:
        """Return the name of the application whose batches Delta counts: one epoch of the connector."""
        return f"{self._connector}-{version.epoch}"

    def add(self, frame: DataFrame, version: BatchVersion, confirm: Callable[[], None]) -> None:
        self.check(version)
        settings = self._settings
        options = {**writer_options(frame, settings.format), **settings.options}
        writer = frame.write.format(settings.format).mode(settings.mode).options(**options)
        if settings.format == "delta":
            writer = writer.option("txnAppId", self.application(version))
            writer = writer.option("txnVersion", version.number)
            if settings.drift is SchemaDrift.EVOLVE:
                writer = writer.option("mergeSchema", "true")
        if settings.partition_by:
            writer = writer.partitionBy(*settings.partition_by)
        if settings.table is not None:
            writer.saveAsTable(settings.table)
        else:
            writer.save(settings.path)


class KafkaWriter(TableWriter):
    """Spark's writer of records, whose topics the rows may name."""

    def __init__(self, settings: SinkSettings, connector: str, session: SparkSession, internal: InternalTopics) -> None:
        super().__init__(settings, connector, session)
        self._internal = internal
        self._topics: WrittenTopics | None = None

    def add(self, frame: DataFrame, version: BatchVersion, confirm: Callable[[], None]) -> None:
        """Raises InternalTopicError for a topic that may not be written to; no row for one is sent."""
        if self._topics is None:
            self._topics = WrittenTopics.of(self._settings.options, self._internal)
        try:
            super().add(self._topics.checked(frame), version, confirm)
        except Exception as error:
            if refused := refused_in(full_text(error)):
                raise InternalTopicError(refused) from None
            raise


class TableMerger:
    """Changes the rows of a Delta table by their keys; its first batch makes it."""

    def __init__(self, settings: SinkSettings, keys: tuple[str, ...], writer: TableWriter) -> None:
        self._settings, self._keys, self._writer = settings, keys, writer

    def later(self, version: BatchVersion) -> BatchVersion | None:
        return self._writer.later(version)

    def add(self, frame: DataFrame, version: BatchVersion, confirm: Callable[[], None]) -> None:
        changes = latest(frame, self._keys)
        known = columns_of_table(self._settings, frame.sparkSession)
        if known is None:
            self._begin(changes, version, confirm)
        else:
            self._writer.check(version)
            application = self._writer.application(version)
            merge(changes, self._settings, self._keys, known, application, version.number)

    def _begin(self, changes: DataFrame, version: BatchVersion, confirm: Callable[[], None]) -> None:
        rows = changes.where(f"NOT {DELETED}").drop(PLACE, DELETED)
        if set(rows.columns) != set(self._keys):
            self._writer.add(rows, version, confirm)
            return
        # Perhaps deletions only, which don't tell the columns of a table.
        rows = rows.persist()
        try:
            if not rows.isEmpty():
                self._writer.add(rows, version, confirm)
        finally:
            rows.unpersist()
