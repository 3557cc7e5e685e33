from __future__ import annotations

import sys
from types import ModuleType

import pytest

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.errors import ConfigError, DataError
from penstock.api.record import SinkRecord
from penstock.pipeline.transforms import PythonFunction


def doubled(record):
    return record.with_(value=record.value * 2) if record.value else None


def batch_doubled(batch):
    return batch.with_(values=[value * 2 for value in batch.values])


class Cleaning:
    @staticmethod
    def upper(record):
        return record.with_(topic=record.topic.upper())


@pytest.fixture(autouse=True)
def shop():
    """A module of a user, under a name of its own."""
    module = ModuleType("shop_cleaning")
    module.doubled, module.batch_doubled, module.Cleaning, module.number = doubled, batch_doubled, Cleaning, 3
    sys.modules["shop_cleaning"] = module
    yield
    del sys.modules["shop_cleaning"]


def applied(batch, **config):
    transform = PythonFunction()
    transform.configure(config)
    return transform.apply_batch(batch)


@pytest.mark.parametrize("name", ["shop_cleaning:doubled", "shop_cleaning.doubled"])
def test_a_function_of_a_record(name):
    changed = applied(Batch.of("t", [1, 0, 3], keys=["a", "b", "c"]), function=name)
    assert (changed.values, changed.keys) == ([2, 6], ["a", "c"])


def test_sink_records_stay_sink_records():
    origin = SinkOrigin(["t", "t"], [0, 0], [7, 8], ["CreateTime", "CreateTime"])
    changed = applied(Batch.of("t", [0, 2], origin=origin), function="shop_cleaning:doubled")
    [row] = changed.rows()
    assert isinstance(row, SinkRecord)
    assert (row.value, row.offset) == (4, 8)


def test_a_static_method():
    assert applied(Batch.of("t", [1]), function="shop_cleaning:Cleaning.upper").topics == ["T"]


def test_a_function_of_a_batch():
    assert applied(Batch.of("t", [1, 0]), function="shop_cleaning:batch_doubled", mode="batch").values == [2, 0]


def test_an_answer_of_the_wrong_kind():
    sys.modules["shop_cleaning"].first = lambda batch: batch.row(0)
    with pytest.raises(DataError, match="answered with a SourceRecord where a Batch is expected"):
        applied(Batch.of("t", [1]), function="shop_cleaning:first", mode="batch")
    with pytest.raises(DataError, match="answered with a str where a record or None is expected"):
        applied(Batch.of("t", [1]), function="builtins:str")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("nothing", "it must name a module and a function in it, as in shop.cleaning:anonymize"),
        ("no_such_module_:f", "module no_such_module_ can't be imported"),
        ("shop_cleaning:nope", "there is no nope in module shop_cleaning"),
        ("shop_cleaning:number", "it is a int, not a function"),
    ],
)
def test_a_function_that_can_not_be_found(name, problem):
    with pytest.raises(ConfigError) as caught:
        applied(Batch.of("t", [1]), function=name)
    assert str(caught.value).startswith(f"Invalid value {name} for configuration function: {problem}")
