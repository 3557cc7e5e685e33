"""Rows of many partitions that wait on the local disk for the others of their partition."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from penstock.spark.query.iceberg.partitions import Key

BLOCK = 4 << 20
"""Bytes of rows that are copied at a time."""


class Spill:
    """Keeps rows in a file of Spark's local folder. It has no name, so that a process that is killed leaves none."""

    def __init__(self, schema: pa.Schema) -> None:
        folders = filter(os.path.isdir, os.environ.get("SPARK_LOCAL_DIRS", "").split(","))
        self._file: Any = tempfile.TemporaryFile(dir=next(folders, None))  # noqa: SIM115 - it is closed by ``close``
        self._writer: Any = pa.ipc.new_file(self._file, schema)
        self._blocks: list[pa.RecordBatch] = []
        self._count = 0
        self._places: dict[Key, list[tuple[int, int, int]]] = {}
        """The blocks that have rows of a partition, with the first row and the number of rows."""

    def add(self, parts: Iterable[tuple[Key, pa.RecordBatch]]) -> None:
        """Write the rows of some partitions. Raises OSError."""
        block: list[pa.RecordBatch] = []
        start = size = 0
        for key, rows in parts:
            self._places.setdefault(key, []).append((self._count, start, rows.num_rows))
            block.append(rows)
            start, size = start + rows.num_rows, size + rows.nbytes
            if size >= BLOCK:
                self._write(block)
                block, start, size = [], 0, 0
        if block:
            self._write(block)

    def _write(self, block: list[pa.RecordBatch]) -> None:
        self._writer.write_batch(pa.Table.from_batches(block).combine_chunks().to_batches()[0])
        self._count += 1

    def finish(self) -> None:
        """Begin to read. The rows are in the page cache, and not in the memory of this process."""
        self._writer.close()
        self._file.flush()
        kept = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        reader = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(kept)))
        self._blocks = [reader.get_batch(number) for number in range(reader.num_record_batches)]

    def partitions(self) -> list[Key]:
        return list(self._places)

    def taken(self, key: Key) -> list[pa.RecordBatch]:
        """Return the rows of a partition, once."""
        places = self._places.pop(key, [])
        return [self._blocks[block].slice(start, count) for block, start, count in places]

    def close(self) -> None:
        self._blocks = []
        self._file.close()
