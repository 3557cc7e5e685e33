"""Values and errors that a plugin's process may send."""

from __future__ import annotations

import os
import pickle
from datetime import UTC, datetime
from decimal import Decimal
from http import HTTPStatus
from typing import Any

import pytest

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.columns import Late, Table
from penstock.api.errors import ConfigError, ConnectError, DataError
from penstock.api.origin import IdentifiedDict, identity_of
from penstock.api.schema import DATE, INT64, STRING, SchemaType, decimal, struct
from penstock.hosts.python.wire import ForeignValueError, described, read, rebuilt, whole, write
from penstock.pipeline.trace import headline, trace


def test_batches_come_as_they_are() -> None:
    schema = struct(("a", INT64), ("b", decimal(2)), name="s")
    table = Table.of({"a": [1, 2], "b": [Decimal("1.50"), None]})
    batch = Batch.of("t", table, value_schema=schema, timestamps=Late(lambda: [1, None]))
    again = read(write(whole(batch)))
    assert again.values == batch.values
    assert isinstance(again.value_column, Table)
    assert again.value_schemas == batch.value_schemas
    assert again.value_schemas[0] is again.value_schemas[1], "one schema for all"
    assert again.timestamps == [1, None]
    moments = [datetime(2026, 1, 2, tzinfo=UTC), DATE, STRING]
    assert read(write(moments)) == moments


def test_offsets_and_partitions_keep_the_identity_of_their_origin() -> None:
    partition, offset = IdentifiedDict({"query": "q"}, {"checkpoint": "c"}), IdentifiedDict({"batch": 1}, {"id": "i"})
    origin = read(write(whole(Batch.of("t", ["x"], origin=SourceOrigin([partition], [offset]))))).origin
    assert (origin.partitions, origin.offsets) == ([{"query": "q"}], [{"batch": 1}])
    assert [identity_of(each) for each in (*origin.partitions, *origin.offsets)] == [{"checkpoint": "c"}, {"id": "i"}]


class Harmful:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("exit 1",)


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(Harmful()),
        b"cpenstock.api.validators\nre.compile\n.",
        b"cpenstock.api.testing.contract\nSourceContract\n.",
    ],
)
def test_nothing_else_is_imported(data: bytes) -> None:
    with pytest.raises(ForeignValueError, match="known in the plugin's environment only"):
        read(data)


class OfOldPython:
    """A value pickled by ``getattr``, as Python 3.11.2 pickles members of enumerations."""

    def __init__(self, *args: Any) -> None:
        self.args = args

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, self.args


def test_members_of_enumerations_as_the_first_python_3_11_sends_them() -> None:
    assert read(pickle.dumps(OfOldPython(SchemaType, "STRING"))) is SchemaType.STRING
    with pytest.raises(ForeignValueError, match="'__subclasses__' is no member of an enumeration"):
        read(pickle.dumps(OfOldPython(SchemaType, "__subclasses__")))
    with pytest.raises(ForeignValueError, match="'fromtimestamp' is no member of an enumeration"):
        read(pickle.dumps(OfOldPython(datetime, "fromtimestamp")))


class OddError(DataError):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


UNDECODED = UnicodeDecodeError("utf-8", b"x", 0, 1, "odd")


@pytest.mark.parametrize(
    "error",
    [
        OddError(1, 2),
        ConfigError("a", 1, "no"),
        KeyError("k"),
        ValueError(),
        FileNotFoundError(2, "none", "/x"),
        UNDECODED,
        ValueError(HTTPStatus.NOT_FOUND),
    ],
)
def test_errors_come_as_they_are(error: Exception) -> None:
    try:
        raise error from ConnectError("the cause")
    except Exception as raised:
        again = rebuilt(read(write(described(raised))))
    base = DataError if isinstance(error, OddError) else type(error)
    assert isinstance(again, base)
    assert headline(again) == headline(error)
    assert str(again.__cause__) == "the cause"
    assert any("test_errors_come_as_they_are" in note for note in again.__notes__)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (SystemExit(3), "The plugin has raised SystemExit: 3"),
        (KeyboardInterrupt(), "The plugin has raised KeyboardInterrupt"),
        (BaseExceptionGroup("g", [SystemExit()]), "The plugin has raised BaseExceptionGroup: g (1 sub-exception)"),
    ],
)
def test_system_exit_of_a_plugin_becomes_an_error(error: BaseException, says: str) -> None:
    again = rebuilt(read(write(described(error))))
    assert (type(again), str(again)) == (ConnectError, says)


def test_a_group_of_errors_is_an_error_with_the_first_as_its_cause() -> None:
    group = ExceptionGroup("several", [ValueError("x"), OddError(1, 2)])
    again = rebuilt(read(write(described(group))))
    assert headline(again).endswith("ExceptionGroup: several (2 sub-exceptions)")
    assert headline(again.__cause__ or again) == "ValueError: x"
    assert any(note.endswith(": 1 and 2") for note in again.__notes__)
    assert "Caused by: ValueError: x" in trace(again)


def test_the_sqlstate_of_a_databases_error_comes_with_it() -> None:
    class DriverError(Exception):
        pgcode = "23505"

    assert "\tSQLSTATE 23505" in trace(rebuilt(read(write(described(DriverError("there already"))))))


def test_an_error_that_can_not_say_its_message_comes_all_the_same() -> None:
    class Wordless(Exception):
        def __str__(self) -> str:
            return None  # type: ignore[return-value]

    assert str(rebuilt(described(Wordless()))) == "(no message: its __str__ has raised TypeError)"
