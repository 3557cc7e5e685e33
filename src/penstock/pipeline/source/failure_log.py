"""The error log of a source, which shows records as they were polled. Java: ``LogReporter.Source``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.columns import SelectedRows
from penstock.pipeline.errors import LogReporter
from penstock.pipeline.source.sending.delivery_tracking import tracked
from penstock.pipeline.transforms.record_text import record_text


class SourceLogReporter(LogReporter):
    """A reporter of failures. It gets each batch before its steps, if its messages include records."""

    _polled: Batch | None = None

    def processed(self, polled: Batch) -> Batch:
        """Take a batch before its steps; return it as ``tracked`` does if its records must be told apart."""
        if not (self.settings.log and self.settings.log_messages):
            return polled
        self._polled = tracked(polled)
        return self._polled

    def record_text(self, record: Batch) -> str:
        return f", where source record is = {record_text(self._as_polled(record).row(0))}"

    def _as_polled(self, record: Batch) -> Batch:
        """Return a record as it was polled; one that the brokers refuse much later is returned as it was sent."""
        polled = self._polled
        if polled is None or not isinstance(record.origin, SourceOrigin):
            return record
        assert isinstance(polled.origin, SourceOrigin)
        row = _row(record.origin.offsets, polled.origin.offsets)
        return record if row is None else polled.select((row,))


def _row(one: Sequence[Any], all: Sequence[Any]) -> int | None:
    """Return the row of one offset among all of them; both are of tracked batches."""
    if isinstance(one, SelectedRows) and isinstance(all, SelectedRows):
        return all.rows.index(one.rows[0]) if one.rows[0] in all.rows else None
    return next((row for row, offset in enumerate(all) if offset is one[0]), None)
