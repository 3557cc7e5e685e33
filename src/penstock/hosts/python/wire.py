"""Values and errors between a worker or task and the interpreter of a plugin.

Values are pickled. Those from the plugin may hold plain values, dates, decimals and objects of ``penstock.api`` only:
anything else exists in the plugin's environment alone, and nothing is imported because a plugin names it. That reports
mistakes where they are made; it does not protect against a malicious plugin, which runs as the same user.
"""

from __future__ import annotations

import builtins
import enum
import importlib
import inspect
import io
import itertools
import pickle
import traceback
from collections.abc import Mapping
from typing import Any

from penstock.api import errors
from penstock.api.batch import COLUMNS, Batch, SinkOrigin, SourceOrigin
from penstock.api.columns import Late, Table
from penstock.api.errors import ConnectError, DataError, KafkaError, cause_of, details_of

_PLAIN = {
    "builtins": {"bytearray", "complex", "frozenset", "set", "range"},
    "collections": {"OrderedDict"},
    "datetime": {"date", "datetime", "time", "timedelta", "timezone"},
    "decimal": {"Decimal"},
    "uuid": {"UUID"},
}
API = frozenset(
    f"penstock.api.{name}"
    for name in (
        "batch",
        "columns",
        "config",
        "config_key",
        "config_types",
        "connector",
        "origin",
        "record",
        "schema",
        "sink",
        "source",
        "topic_settings",
        "validators",
    )
)
"""The modules whose objects cross."""
_FRAMES = 40
_OWN = ("/penstock/hosts/python/", "/penstock/wire/")
"""Folders whose frames are left out of traces."""
_ARGUMENTS = {str, int, float, bool, bytes, type(None)}


class ForeignValueError(ConnectError):
    """A value of a class that only the plugin's environment has."""


class ApiUnpickler(pickle.Unpickler):
    """Unpickles plain values and objects of ``penstock.api`` only."""

    def find_class(self, module: str, name: str) -> Any:
        if name in _PLAIN.get(module, ()):
            return getattr(importlib.import_module(module), name)
        if (module, name) == ("builtins", "getattr"):
            return _member
        if module in API and "." not in name:
            found = getattr(importlib.import_module(module), name, None)
            if inspect.isclass(found) and found.__module__ == module:
                return found
        raise ForeignValueError(
            f"{module}.{name} is known in the plugin's environment only: values that leave it must be plain ones, "
            "dates, decimals, or objects of penstock.api"
        )


def _member(cls: Any, name: str) -> Any:
    """Python 3.11.0 to 3.11.3 pickles the members of enumerations as ``getattr(cls, name)``."""
    if not isinstance(cls, enum.EnumMeta) or name not in cls.__members__:
        raise ForeignValueError(f"{name!r} is no member of an enumeration of penstock.api")
    return cls.__members__[name]


def read(data: bytes | memoryview) -> Any:
    """Return a value that ``write`` has pickled on the plugin's side. Raises ForeignValueError, also for bytes that
    are none.
    """
    try:
        return ApiUnpickler(io.BytesIO(data)).load()
    except KafkaError:
        raise
    except Exception as error:  # damaged bytes call classes with whatever is there
        problem = f"{type(error).__name__}: {error}"
        raise ForeignValueError(f"The plugin's process has sent a value that can't be read: {problem}") from error


def write(value: Any) -> bytes:
    """Pickle a value. Raises DataError for one that is nested too deeply."""
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except RecursionError as error:
        raise DataError("A value is nested too deeply to be given to the plugin's process") from error


def whole(batch: Batch) -> Batch:
    """Return the batch with all its columns computed, so that it can be pickled."""
    columns: dict[str, Any] = {column.name: _column(getattr(batch, column.name)) for column in COLUMNS}
    return Batch(**columns, origin=_origin(batch.origin))


def _column(column: Any) -> Any:
    if isinstance(column, Table):
        return _Columns.of(column)
    return column.get() if isinstance(column, Late) else list(column)


class _Columns(Table):
    """A table that is pickled without the rows that it may have computed."""

    __slots__ = ()

    @classmethod
    def of(cls, table: Table) -> _Columns:  # type: ignore[override]
        return cls(table.names, [list(column) for column in table.columns])

    def __reduce__(self) -> tuple[Any, ...]:
        return Table, (self.names, self.columns)


def _origin(origin: SourceOrigin | SinkOrigin | None) -> SourceOrigin | SinkOrigin | None:
    match origin:
        case SourceOrigin():
            return SourceOrigin(list(origin.partitions), list(origin.offsets))
        case SinkOrigin():
            return SinkOrigin(
                list(origin.topics), list(origin.partitions), list(origin.offsets), list(origin.timestamp_types)
            )
        case None:
            return None


# -- errors


def described(error: BaseException) -> dict[str, Any]:
    """Describe an error and its causes in plain values."""
    chain: list[dict[str, Any]] = []
    current: BaseException | None = error
    while current is not None and len(chain) < 20:
        chain.append(_one(current))
        current = cause_of(current)
    return {"chain": chain}


def _one(error: BaseException) -> dict[str, Any]:
    frames = reversed(traceback.extract_tb(error.__traceback__))
    at = [f"at {f.name}({f.filename}:{f.lineno})" for f in frames if not any(own in f.filename for own in _OWN)]
    known = type(error).__module__ in ("builtins", "penstock.api.errors")
    args: tuple[Any, ...] = error.args
    if isinstance(error, OSError) and error.errno is not None:
        args = (error.errno, error.strerror, error.filename if isinstance(error.filename, str) else None)
    if not known or not all(type(each) in _ARGUMENTS for each in args):  # not http.HTTPStatus, which is an int
        args = (message,) if (message := _message(error)) else ()
    return {
        "classes": [(cls.__module__, cls.__qualname__) for cls in type(error).__mro__ if cls is not object],
        "java": getattr(error, "java_name", None),
        "args": args,
        "notes": [*map(str, getattr(error, "__notes__", ())), *details_of(error), *at[:_FRAMES]],
    }


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as failure:
        return f"(no message: its __str__ has raised {type(failure).__name__})"


def rebuilt(document: Mapping[str, Any]) -> Exception:
    """Return a described error, of the same class if it is known here, else of the nearest one under the same name."""
    made = [_rebuilt(each) for each in document["chain"]]
    for error, cause in itertools.pairwise(made):
        error.__cause__ = cause
    return made[0]


def _rebuilt(one: Mapping[str, Any]) -> Exception:
    module, name = one["classes"][0]
    base = next(filter(None, (_known(*each) for each in one["classes"])), None)
    if base is None:  # SystemExit and the like must not end a thread of the worker
        return _noted(ConnectError(": ".join((f"The plugin has raised {name}", *map(str, one["args"])))), one)
    cls = base
    if (base.__module__, base.__qualname__) != (module, name):
        names = {"__module__": module, "__qualname__": name}
        cls = type(name.rpartition(".")[2], (base,), names | ({"java_name": one["java"]} if one["java"] else {}))
    try:
        error = cls(*one["args"])
    except Exception:
        error = cls.__new__(cls)
        error.args = tuple(one["args"])
    return _noted(error, one)


def _noted(error: Exception, one: Mapping[str, Any]) -> Exception:
    for note in one["notes"]:
        error.add_note(note)
    return error


def _known(module: str, name: str) -> type[Exception] | None:
    place = {"builtins": builtins, "penstock.api.errors": errors}.get(module)
    found = getattr(place, name, None)
    if not isinstance(found, type) or not issubclass(found, Exception) or issubclass(found, BaseExceptionGroup):
        return None
    return found
