"""The columns of a batch as arguments of ``Producer.produce``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.api.batch import Batch
from penstock.api.errors import DataError
from penstock.api.record import Header
from penstock.pipeline.errors import origin_of
from penstock.values.repeated import only_nulls


def arguments_of(batch: Batch, delivered: Sequence[Any] | None) -> list[list[Any]]:
    """Return the arguments after the topic, in the order of ``produce`` and no more than needed. ``delivered``: a
    callback or None for each record. Raises DataError for a partition or timestamp that Kafka does not have.
    """
    n = len(batch)
    arguments: list[list[Any]] = [batch.values, batch.keys]
    headers = any(batch.headers)
    unplaced = only_nulls(batch.partitions)
    if not headers and delivered is None and unplaced and only_nulls(batch.timestamps):
        return arguments
    arguments.append([-1] * n if unplaced else _partitions(batch))
    arguments += [[None] * n if delivered is None else list(delivered), [None] * n, _timestamps(batch.timestamps)]
    if headers:
        arguments.append(_headers(batch.headers))
    return arguments


def _partitions(batch: Batch) -> list[int]:
    """Return partitions for the producer, where -1 lets it choose, which a record says by None only."""
    column = batch.partitions
    if (least := min((each for each in column if each is not None), default=0)) < 0:
        invalid = DataError(f"Invalid partition: {least}. Partition number should always be non-negative or null.")
        row = list(column).index(least)
        invalid.add_note(f"In a record for topic {batch.topics[row]}, {origin_of(batch, row)}")
        raise invalid
    return [-1 if partition is None else partition for partition in column]


def _headers(rows: list[tuple[Header, ...]]) -> list[list[tuple[str, Any]]]:
    """Return headers as pairs of name and bytes; neighbours with the same headers share one list."""
    pairs: list[list[tuple[str, Any]]] = []
    before: tuple[Header, ...] | None = None
    for row in rows:
        pairs.append(pairs[-1] if row is before else [(h.key, h.value) for h in row])
        before = row
    return pairs


def _timestamps(column: list[int | None]) -> list[int]:
    """Return timestamps for the producer, where 0 means now: the first millisecond of 1970 becomes the second."""
    if len(column) > 1 and column[0] == column[-1] and column.count(column[0]) == len(column):
        return _timestamps(column[:1]) * len(column)  # of one poll
    times = [0 if t is None or t == -1 else t or 1 for t in column]
    if times and min(times) < 0:
        raise DataError(f"Invalid record timestamp {min(times)}")
    return times
