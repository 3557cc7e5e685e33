"""Data files of a batch, written by an executor: Parquet with Iceberg's field IDs and statistics.

Memory is bounded whatever the number of partitions: rows of all partitions together wait until they are ``MAX_WAITING``
bytes. Then each partition that has enough of them gets a row group in its file, of which no more than ``MAX_OPEN`` are
open; rows of the others wait on the local disk, so that a partition gets few files though it has few rows at a time.
A file has a name that no other attempt gives, and no file is overwritten.
"""

from __future__ import annotations

import re
import uuid
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

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

from penstock.connectors.spark.iceberg_properties import MAX_ROW_GROUP
from penstock.spark.query.iceberg.arrow import TableShape, renamed
from penstock.spark.query.iceberg.file_io import file_io_properties
from penstock.spark.query.iceberg.partitions import Key, Partitioner
from penstock.spark.query.iceberg.spill import Spill

MAX_WAITING = MAX_ROW_GROUP
"""Bytes of rows, as Arrow has them, that one process keeps before it writes row groups."""
BATCH_COST = 256
"""Bytes that each column of a batch of rows needs beside its values."""
SMALLEST_GROUP = 4 << 20
"""Bytes of rows of one partition that are a row group of their own before all rows are known."""
MAX_OPEN = 64
"""Files that one process has open."""
TARGET, ROW_GROUP = "write.target-file-size-bytes", "write.parquet.row-group-size-bytes"
TARGET_BYTES, ROW_GROUP_BYTES = 512 << 20, 128 << 20
"""Iceberg's defaults."""


@dataclass(frozen=True, slots=True)
class WrittenTable:
    """The parts of a table that a writer of files needs. ``io`` may hold secrets of the store of files."""

    schema: str
    spec: str
    spec_id: int
    location: str
    properties: Mapping[str, str]
    """Properties of the table, replaced by those of the connector."""
    io: Mapping[str, str]
    ignores_case: bool
    prefix: str
    """The beginning of the names of files: generation and batch."""

    @classmethod
    def of(cls, table: Any, properties: Mapping[str, str], *, ignores_case: bool, prefix: str) -> Self:
        """Return those of pyiceberg's table; ``properties`` are the connector's."""
        metadata = table.metadata
        given = {**metadata.properties, **properties}
        return cls(
            schema=table.schema().model_dump_json(),
            spec=table.spec().model_dump_json(),
            spec_id=metadata.default_spec_id,
            location=table.location(),
            properties={name: value for name, value in given.items() if name.startswith("write.")},
            io=file_io_properties(table.io.properties),
            ignores_case=ignores_case,
            prefix=prefix,
        )

    def encoded(self) -> bytes:
        """Return it in a form that ``decoded`` reads in another process."""
        return msgspec.json.encode(self)

    @staticmethod
    def decoded(data: bytes) -> WrittenTable:
        return msgspec.json.decode(data, type=WrittenTable)


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
        with warnings.catch_warnings():  # of what this writer minds itself
            warnings.filterwarnings("ignore", message=rf".*{re.escape(ROW_GROUP)}")
            self._options = _get_parquet_writer_kwargs(dict(table.properties))
        self._target = int(table.properties.get(TARGET) or TARGET_BYTES)
        self._group = min(int(table.properties.get(ROW_GROUP) or ROW_GROUP_BYTES), MAX_WAITING)
        self._statistics = compute_statistics_plan(self._file_schema, dict(table.properties))
        self._ids = parquet_path_to_id_mapping(self._file_schema)
        self._fresh: list[pa.RecordBatch] = []
        """Rows that wait, of all partitions."""
        self._waiting = self._number = 0
        self._open: dict[Key, _File] = {}
        """Files that are open, in the order in which rows were last written to them."""
        self._spill: Spill | None = None
        self._attempt = uuid.uuid4().hex
        self._made: list[Any] = []
        self._paths: list[str] = []

    def write(self, rows: pa.RecordBatch) -> None:
        """Take rows of the table's columns. Raises OSError, and what the store's library raises."""
        self._fresh.append(rows)
        self._waiting += rows.nbytes + BATCH_COST * (1 + rows.num_columns)
        if self._waiting >= (MAX_WAITING if self._spec.fields else self._group):
            few = []
            for key, own in self._sorted():
                if not self._spec.fields or own.nbytes >= min(self._group, SMALLEST_GROUP):
                    self._add(key, own)
                else:
                    few.append((key, own))
            if few:
                self._spill = self._spill or Spill(few[0][1].schema)
                self._spill.add(few)

    def close(self) -> list[Any]:
        """Write what waits, and return all files, which may be none."""
        parts = list(self._sorted())
        if self._spill is None:
            for key, own in parts:
                self._add(key, own)
        else:
            if parts:
                self._spill.add(parts)
            del parts
            self._spill.finish()
            for key in self._spill.partitions():
                self._add_all(key, self._spill.taken(key))
                self._end(key)
        for key in list(self._open):
            self._end(key)
        self._forget()
        return self._made

    def abandon(self) -> None:
        """Delete the files, which nobody has heard of, as far as that is possible."""
        for file in self._open.values():
            file.abandon()
        with suppress(Exception):
            self._forget()
        for path in self._paths:
            with suppress(Exception):
                self._io.delete(path)

    def _forget(self) -> None:
        if self._spill is not None:
            self._spill.close()

    def _sorted(self) -> Iterator[tuple[Key, pa.RecordBatch]]:
        """Yield the rows that wait, by partitions."""
        fresh, self._fresh, self._waiting = self._fresh, [], 0
        if fresh:
            whole = pa.Table.from_batches(fresh).combine_chunks().to_batches()
            fresh.clear()
            while whole:
                yield from self._partitioner.parts(whole.pop())

    def _add_all(self, key: Key, parts: list[pa.RecordBatch]) -> None:
        """Write rows of a partition in row groups that are as large as they may be."""
        group: list[pa.RecordBatch] = []
        size = 0
        for part in parts:
            if group and size + part.nbytes > self._group:
                self._add(key, *group)
                group, size = [], 0
            group.append(part)
            size += part.nbytes
        self._add(key, *group)

    def _add(self, key: Key, *parts: pa.RecordBatch) -> None:
        rows = pa.Table.from_batches([renamed(each, self._arrow) for each in parts], self._arrow)
        most = max(1, -(-rows.num_rows // max(1, round(rows.nbytes / self._group))))
        for start in range(0, rows.num_rows, most):
            if (file := self._open.pop(key, None)) is None:
                if len(self._open) >= MAX_OPEN:
                    self._end(next(iter(self._open)))
                file = self._begin(key)
            self._open[key] = file
            file.write(rows.slice(start, most))
            if file.size >= self._target:
                self._end(key)

    def _begin(self, key: Key) -> _File:
        name = f"{self._table.prefix}-{self._attempt}-{self._number:05}.parquet"
        self._number += 1
        flat = isinstance(self._places, ObjectStoreLocationProvider) and not self._places._include_partition_paths
        if key and not flat:
            name = f"{self._spec.partition_to_path(Record(*key), self.schema)}/{name}"
        path = self._places.new_data_location(name)
        self._paths.append(path)
        return _File(self._io, path, self._arrow, self._options)

    def _end(self, key: Key) -> None:
        if (file := self._open.pop(key, None)) is None:
            return
        metadata, size = file.close()
        found = data_file_statistics_from_parquet_metadata(metadata, self._statistics, self._ids)
        self._made.append(
            DataFile.from_args(
                content=DataFileContent.DATA,
                file_path=file.path,
                file_format=FileFormat.PARQUET,
                partition=Record(*key),
                file_size_in_bytes=size,
                sort_order_id=None,
                spec_id=self._table.spec_id,
                equality_ids=None,
                key_metadata=None,
                **found.to_serialized_dict(),
            )
        )
