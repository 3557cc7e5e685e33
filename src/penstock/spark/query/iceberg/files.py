"""Data files of a batch, written by an executor: Parquet with Iceberg's field IDs and statistics.

Memory is bounded whatever the number of partitions: rows wait for their row group, of all partitions together no more
than ``MAX_WAITING`` bytes, and no more than ``MAX_OPEN`` files are open. A file has a name that no other attempt gives,
and no file is overwritten.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io import load_file_io
from pyiceberg.io.pyarrow import (
    _get_parquet_writer_kwargs,
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
    schema_to_pyarrow,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema, sanitize_column_names
from pyiceberg.table.locations import ObjectStoreLocationProvider, load_location_provider
from pyiceberg.typedef import Record

from penstock.spark.query.iceberg.arrow import TableShape
from penstock.spark.query.iceberg.partitions import Key, Partitioner

MAX_WAITING = 64 << 20
"""Bytes of rows, as Arrow has them, that one process keeps before it writes row groups."""
MAX_OPEN = 64
"""Files that one process has open."""
TARGET, ROW_GROUP = "write.target-file-size-bytes", "write.parquet.row-group-size-bytes"
TARGET_BYTES, ROW_GROUP_BYTES = 512 << 20, 128 << 20
"""Iceberg's defaults."""


@dataclass(frozen=True, slots=True)
class WrittenTable:
    """The parts of a table that a writer of files needs. ``io`` may hold secrets."""

    schema: str
    spec: str
    spec_id: int
    location: str
    properties: Mapping[str, str]
    """Those of the table, and those of the connector in place of them."""
    io: Mapping[str, str]
    ignores_case: bool
    prefix: str
    """The beginning of the names of files: generation and batch."""

    def encoded(self) -> bytes:
        """Return it in a form that ``decoded`` reads in another process."""
        return msgspec.json.encode(self)

    @staticmethod
    def decoded(data: bytes) -> WrittenTable:
        return msgspec.json.decode(data, type=WrittenTable)


@dataclass(slots=True)
class _Part:
    """The rows of one partition: those that wait, and the file that is open."""

    key: Key
    waiting: list[pa.RecordBatch] = field(default_factory=list)
    size: int = 0
    file: _File | None = None
    used: int = 0
    """When rows were last written to the file; files that are too many are closed in this order."""


class _File:
    def __init__(self, io: Any, path: str, schema: pa.Schema, options: Mapping[str, Any]) -> None:
        self.path, self._output = path, io.new_output(path)
        self._stream = self._output.create(overwrite=False)
        try:
            self._writer = pq.ParquetWriter(self._stream, schema, store_decimal_as_integer=True, **options)
        except BaseException:
            self._stream.close()
            raise

    def write(self, rows: pa.Table) -> None:
        self._writer.write_table(rows, row_group_size=max(rows.num_rows, 1))

    @property
    def size(self) -> int:
        return int(self._stream.tell())

    def close(self) -> tuple[Any, int]:
        """Return the metadata of Parquet, and the size of the file."""
        self._writer.close()
        size = self.size
        self._stream.close()
        return self._writer.writer.metadata, size

    def abandon(self) -> None:
        with suppress(Exception):
            self._writer.close()
        with suppress(Exception):
            self._stream.close()


class FileWriter:
    """Writes rows to files of a table. ``close`` returns them; after an error ``abandon`` deletes them."""

    def __init__(self, table: WrittenTable) -> None:
        self._table = table
        self.schema = Schema.model_validate_json(table.schema)
        spec = PartitionSpec.model_validate_json(table.spec)
        self._spec, self._partitioner = spec, Partitioner(self.schema, spec)
        self._file_schema = sanitize_column_names(self.schema)
        self._arrow = schema_to_pyarrow(self._file_schema)
        self.shape = TableShape(schema_to_pyarrow(self.schema), ignores_case=table.ignores_case)
        self._io = load_file_io(dict(table.io), table.location)
        self._places = load_location_provider(table.location, dict(table.properties))
        with warnings.catch_warnings():  # about the size of row groups, which this writer minds itself
            warnings.simplefilter("ignore")
            self._options = _get_parquet_writer_kwargs(dict(table.properties))
        self._target = int(table.properties.get(TARGET) or TARGET_BYTES)
        self._group = min(int(table.properties.get(ROW_GROUP) or ROW_GROUP_BYTES), MAX_WAITING)
        self._statistics = compute_statistics_plan(self._file_schema, dict(table.properties))
        self._ids = parquet_path_to_id_mapping(self._file_schema)
        self._parts: dict[Key, _Part] = {}
        self._waiting = self._number = self._clock = 0
        self._attempt = uuid.uuid4().hex
        self._made: list[Any] = []
        self._paths: list[str] = []

    def write(self, rows: pa.RecordBatch) -> None:
        """Take rows of the table's columns. Raises OSError, and what the store's library raises."""
        for key, own in self._partitioner.parts(rows):
            part = self._parts.get(key) or self._parts.setdefault(key, _Part(key))
            part.waiting.append(own)
            part.size += own.nbytes
            self._waiting += own.nbytes
            if part.size >= self._group:
                self._flush(part)
        while self._waiting > MAX_WAITING:
            self._flush(max(self._parts.values(), key=lambda part: part.size))

    def close(self) -> list[Any]:
        """Write what waits, and return all files, which may be none."""
        for part in self._parts.values():
            self._flush(part)
            self._end(part)
        return self._made

    def abandon(self) -> None:
        """Delete the files, which nobody has heard of, as far as that is possible."""
        for part in self._parts.values():
            if part.file is not None:
                part.file.abandon()
        for path in self._paths:
            with suppress(Exception):
                self._io.delete(path)

    def _flush(self, part: _Part) -> None:
        if not part.waiting:
            return
        rows = pa.Table.from_batches(part.waiting).combine_chunks()
        self._waiting -= part.size
        part.waiting, part.size = [], 0
        if part.file is None:
            self._make_room()
            part.file = self._begin(part.key)
        self._clock += 1
        part.used = self._clock
        part.file.write(rows.rename_columns(self._arrow.names).cast(self._arrow))
        if part.file.size >= self._target:
            self._end(part)

    def _make_room(self) -> None:
        parts = [part for part in self._parts.values() if part.file is not None]
        if len(parts) >= MAX_OPEN:
            self._end(min(parts, key=lambda part: part.used))

    def _begin(self, key: Key) -> _File:
        name = f"{self._table.prefix}-{self._attempt}-{self._number:05}.parquet"
        self._number += 1
        flat = isinstance(self._places, ObjectStoreLocationProvider) and not self._places._include_partition_paths
        if key and not flat:
            name = f"{self._spec.partition_to_path(Record(*key), self.schema)}/{name}"
        path = self._places.new_data_location(name)
        self._paths.append(path)
        return _File(self._io, path, self._arrow, self._options)

    def _end(self, part: _Part) -> None:
        if part.file is None:
            return
        file, part.file = part.file, None
        metadata, size = file.close()
        found = data_file_statistics_from_parquet_metadata(metadata, self._statistics, self._ids)
        self._made.append(
            DataFile.from_args(
                content=DataFileContent.DATA,
                file_path=file.path,
                file_format=FileFormat.PARQUET,
                partition=Record(*part.key),
                file_size_in_bytes=size,
                sort_order_id=None,
                spec_id=self._table.spec_id,
                equality_ids=None,
                key_metadata=None,
                **found.to_serialized_dict(),
            )
        )
