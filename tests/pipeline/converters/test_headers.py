"""The headers of a sink's records: those that repeat are read once by converters for which that makes no difference."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import values
from penstock.api.batch import NO_HEADERS, Batch
from penstock.api.errors import DataError
from penstock.api.record import Header
from penstock.api.schema import INT8, OPTIONAL_STRING, STRING
from penstock.pipeline.conversion import Conversion
from penstock.pipeline.converters import SimpleHeaderConverter, StringConverter
from support.tasks.runs import STRING as STRINGS
from support.tasks.runs import resolve

ROWS = [
    (("a", b"1"), ("b", b"x")),
    (),
    (("a", b"1"), ("a", b"1"), ("b", b"1")),
    None,
    (("a", None), ("b", b"")),
    (("a", "é".encode()), ("a", b"\xff"), ("a", b"x")),
]


class Counting(StringConverter):
    """Reads each header as another value, and fails for some."""

    calls = 0

    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> Any:
        if data == b"bad":
            raise DataError("bad")
        Counting.calls += 1
        return STRING, f"{topic} {Counting.calls}"


def read(rows: list[Any], converter: type = SimpleHeaderConverter, topics: list[str] | None = None) -> list[Any]:
    config = {"key.converter": STRINGS, "value.converter": STRINGS, "header.converter": "x"}
    conversion = Conversion.build(config, {}, lambda kind, name: converter if name == "x" else resolve(kind, name))
    batch = Batch.of(topics or ["t"] * len(rows), [None] * len(rows), headers=rows)
    return conversion.to_connect()[-1].apply(batch).headers


@pytest.mark.parametrize("converter", [SimpleHeaderConverter, StringConverter])
def test_headers_that_repeat_are_what_each_is_by_itself(converter: type) -> None:
    alone = [read([row], converter)[0] or NO_HEADERS for row in ROWS]
    assert read(ROWS, converter) == alone
    assert read(ROWS * 3, converter, ["t", "u", "v"] * 6) == alone * 3


def test_values_of_headers() -> None:
    assert read(ROWS[:1] * 2) == [(Header("a", INT8, 1), Header("b", STRING, "x"))] * 2
    assert read(ROWS[:1] * 2, StringConverter)[1][0] == Header("a", OPTIONAL_STRING, "1")


@pytest.mark.parametrize("text", ["1E+1000000000", "[1E+1000000000, 1]"])
def test_the_digits_of_a_number_with_a_large_exponent_are_never_written_out(text: str) -> None:
    ((header,),) = read([(("a", text.encode()),)])
    written = SimpleHeaderConverter().from_connect_header("t", "a", header.schema, header.value)
    assert written == text.replace(" ", "").encode()
    assert values.to_long(STRING, text.strip("[]").partition(",")[0]) == 0


def test_other_converters_are_asked_for_each() -> None:
    Counting.calls = 0
    values = [[header.value for header in row] for row in read([(("a", b"1"),) * 2] * 2, Counting, ["t", "u"])]
    assert values == [["t 1", "t 2"], ["u 3", "u 4"]]
    with pytest.raises(DataError, match="bad"):
        read([(("a", b"1"),), (("a", b"bad"),)], Counting)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('[0.1,"a"]', '[0.1,"a"]'),
        ('{"a":0.1,"b":"x"}', '{"a":0.1,"b":"x"}'),
        ('[[0.1,2],"x"]', '[[0.1,2.0],"x"]'),
        ('[{"a":0.1},"x"]', '[{"a":0.1},"x"]'),
        ('{"a":null}', '{"a":null}'),
        ("{0.1:1,true:2}", "{0.1:1,true:2}"),
        ("[0.1]", "[0.1]"),
        ('{"a":1,"b":2.5}', '{"a":1.0,"b":2.5}'),
    ],
)
def test_a_number_of_32_bits_keeps_its_digits_also_beside_values_of_other_types(text: str, shown: str) -> None:
    converter = SimpleHeaderConverter()
    schema, value = converter.to_connect_header("t", "h", text.encode())
    assert converter.from_connect_header("t", "h", schema, value) == shown.encode()
