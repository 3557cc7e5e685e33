"""Maps without a schema as rows of a table that exists: their keys are its columns."""

from __future__ import annotations

from typing import Any

from penstock.api.batch import Batch
from penstock.api.errors import DataError
from penstock.pipeline.errors import PipelineStage, Step


class TableKeys:
    """The step that refuses records with keys for which there is no column; ``target`` is the table's name."""

    def __init__(self, columns: list[str], target: str, plugin: str, *, ignores_case: bool, drops: bool) -> None:
        self._names = {self._key(name) if ignores_case else name: name for name in columns}
        self._target, self._ignores_case, self._drops = target, ignores_case, drops
        self.step = Step(PipelineStage.TASK_PUT, plugin, self.apply)

    def apply(self, batch: Batch) -> Batch:
        """Return the batch with the names of the columns as keys. Raises DataError."""
        return batch.with_(values=[self._row(value) for value in batch.values])

    def _row(self, value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise DataError(
                f"A row of {self._target} is made of a struct or a map, not of {type(value).__name__}: make a "
                "map of it by HoistField"
            )
        if value.keys() <= self._names.keys() and not self._ignores_case:
            return value
        row, others = {}, []
        for name, each in value.items():
            column = self._names.get(self._key(name) if self._ignores_case else name)
            if column is None:
                others.append(name)
            elif column in row:
                raise DataError(f"Two keys of the value are column {column} of {self._target}")
            else:
                row[column] = each
        if others and not self._drops:
            raise DataError(
                f"{', '.join(others)}: no columns of {self._target}, and a value without a schema adds none: "
                "use a converter with schemas, or declare the columns by `schema`"
            )
        if others and not row:
            raise DataError(f"{self._target} has a column for no key of the value ({', '.join(map(str, others))})")
        return row

    @staticmethod
    def _key(name: str) -> str:
        return str(name).casefold()
