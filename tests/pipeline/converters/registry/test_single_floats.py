"""Numbers of Python's 64 bits in a schema of FLOAT32: refused where 32 bits would make them infinite."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, isinf, isnan, nan
from typing import Any

import pytest

from penstock.api.errors import DataError
from penstock.api.schema import FLOAT32, struct
from penstock.java.numbers import float32
from penstock.pipeline.converters import AvroConverter, ProtobufConverter
from pipeline.converters.registry.registry_double import RegistryDouble

pytest.importorskip("fastavro")
pytest.importorskip("grpc_tools")

LARGEST = float.fromhex("0x1.fffffep+127")
BELOW_LIMIT, LIMIT = float.fromhex("0x1.fffffefffffffp+127"), float.fromhex("0x1.ffffffp+127")
ROW = struct(("f", FLOAT32), name="Row")


@pytest.mark.parametrize("value", [1e300, -1e39, LIMIT, -LIMIT])
def test_a_number_beyond_32_bits_is_refused(converter: Any, value: float) -> None:
    sentence = f"{value!r} is a number that FLOAT32 cannot hold"
    topic = type(converter).__name__
    for write in (
        lambda: converter.from_connect(topic, (), ROW, {"f": value}),
        lambda: converter.from_connect_batch([topic] * 2, [()] * 2, [ROW] * 2, [{"f": 1.0}, {"f": value}]),
    ):
        with pytest.raises(DataError) as refused:
            write()
        errors = [str(refused.value), *map(str, iter_causes(refused.value))]
        assert any(sentence in error for error in errors), errors


def iter_causes(error: BaseException) -> Iterator[BaseException]:
    while error.__cause__ is not None:
        error = error.__cause__
        yield error


@pytest.mark.parametrize("value", [0.1, -0.0, LARGEST, BELOW_LIMIT, 1e-300])
def test_others_are_the_nearest_of_32_bits(converter: Any, value: float) -> None:
    topic = type(converter).__name__
    data = converter.from_connect(topic, (), ROW, {"f": value})
    _, read = converter.to_connect(topic, (), data)
    assert float32(read["f"]) == float32(value)


@pytest.mark.parametrize("value", [inf, -inf, nan])
def test_what_is_no_finite_number_is_written(shared: RegistryDouble, value: float) -> None:
    for kind in (AvroConverter, ProtobufConverter):
        converter: Any = kind()
        converter.configure({"schema.registry.url": shared.url}, False)
        topic = kind.__name__
        _, read = converter.to_connect(topic, (), converter.from_connect(topic, (), ROW, {"f": value}))
        assert isnan(read["f"]) if isnan(value) else isinf(read["f"]) and (read["f"] > 0) == (value > 0)
