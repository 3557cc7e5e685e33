"""Checks of what methods of plugins return: a sentence for their author in place of an error within the runtime.

In Java the compiler makes these checks.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from penstock.api.batch import COLUMNS, Batch
from penstock.api.columns import Table
from penstock.api.config_key import ConfigValue
from penstock.api.errors import ConnectError
from penstock.api.record import Record, SourceRecord

__all__ = ["applied_batch", "even", "idle_seconds", "polled_batch", "ran", "task_class", "task_configs", "validated"]

_RECORDS = "expected a list of SourceRecords, a Batch, or None if there are no records now"
_RECORD = "expected a record, such as `record.with_(value=...)`, or None to drop it"
_CONFIGS = "expected a list with a dict of strings for each task"


def polled_batch(polled: Sequence[SourceRecord] | Batch | None) -> Batch | None:
    """Return the records that ``poll`` returned; None if there are none. Raises ConnectError."""
    if polled is None:
        return None
    if isinstance(polled, Batch):
        return even(polled) if len(polled) else None
    if not isinstance(polled, Collection):
        raise ConnectError(f"poll returned {_kind(polled)}; {_RECORDS}")
    if not len(polled):
        return None
    try:
        return Batch.of_source_records(polled)
    except AttributeError:
        for other in polled:
            if not isinstance(other, SourceRecord):
                raise ConnectError(f"poll returned {_kind(polled)} that has {_kind(other)} in it; {_RECORDS}") from None
        raise


def idle_seconds(idle: Any) -> float:
    """Check what ``idle`` returned. Raises ConnectError."""
    if not isinstance(idle, int | float):
        said = "nothing (is a `return` missing?)" if idle is None else _kind(idle)
        raise ConnectError(f"idle returned {said}; expected the seconds to wait before the next poll, such as 0.1")
    return idle


def applied_batch(records: Sequence[Any]) -> Batch:
    """Make a batch of what a transform's ``apply`` returned for records that it kept. Raises ConnectError."""
    try:
        return Batch.of_rows(records)
    except AttributeError:
        for other in records:
            if not isinstance(other, Record):
                raise ConnectError(f"apply returned {_kind(other)}; {_RECORD}") from None
        raise


def even(batch: Batch) -> Batch:
    """Check a batch that a plugin has made.

    Raises ConnectError if it is none, or its columns are of different lengths: records would be lost, or have values of
    others.
    """
    if not isinstance(batch, Batch):
        raise ConnectError(f"Expected a Batch, not {_kind(batch)}")
    if type(batch) is Batch:  # others have their columns elsewhere
        for name, column in _columns(batch):
            if isinstance(column, list | Table) and len(column) != len(batch.topics):
                raise ConnectError(
                    f"A batch has {len(column)} {name} and {len(batch.topics)} topics; all columns must be of the same "
                    "length. `batch.select(rows)` leaves out records"
                )
    return batch


def _columns(batch: Batch) -> Iterator[tuple[str, Any]]:
    for column in COLUMNS[1:]:
        yield column.public.replace("_", " "), getattr(batch, column.name)
    if batch.origin is not None:
        yield "partitions of their origin", batch.origin.partitions
        yield "offsets of their origin", batch.origin.offsets


def ran(method: str, returned: object) -> None:
    """Check the result of a method that returns nothing. Raises ConnectError if its code has not run."""
    if inspect.iscoroutine(returned):
        returned.close()  # or Python would warn of it
        raise ConnectError(f"{method} returned a coroutine and has done nothing; expected a method without `async`")
    if inspect.isgenerator(returned) or inspect.isasyncgen(returned):
        raise ConnectError(
            f"{method} returned {_kind(returned)} and has done nothing; expected a method without `yield`"
        )


def task_configs(made: Any) -> list[dict[str, str]]:
    """Check what ``task_configs`` returned. Raises ConnectError."""
    if made is None:
        raise ConnectError(f"task_configs returned nothing (is a `return` missing?); {_CONFIGS}")
    if isinstance(made, Mapping | str) or not isinstance(made, Collection):
        raise ConnectError(f"task_configs returned {_kind(made)}; {_CONFIGS}")
    for config in made:
        if not isinstance(config, Mapping):
            raise ConnectError(f"task_configs returned {_kind(made)} that has {_kind(config)} in it; {_CONFIGS}")
        for key, value in config.items():
            if not isinstance(key, str) or not isinstance(value, str | None):
                raise ConnectError(f"task_configs returned {_kind(value)} as the setting {key}; {_CONFIGS}")
    return [dict(config) for config in made]


def task_class(made: Any) -> type[Any]:
    """Check what ``task_class`` returned. Raises ConnectError."""
    if not isinstance(made, type):
        said = "nothing (is a `return` missing?)" if made is None else _kind(made)
        raise ConnectError(f"task_class returned {said}; expected the class of the tasks, not an object of it")
    return made


def validated(made: Any) -> Collection[ConfigValue]:
    """Check what ``validate`` of a connector returned. Raises ConnectError."""
    if isinstance(made, Collection) and all(isinstance(value, ConfigValue) for value in made):
        return made
    said = "nothing (is a `return` missing?)" if made is None else _kind(made)
    raise ConnectError(f"validate returned {said}; expected a list of ConfigValues, as `super().validate(config)` is")


def _kind(thing: object) -> str:
    name = type(thing).__name__
    return f"an {name}" if name[0].lower() in "aeiou" else f"a {name}"
