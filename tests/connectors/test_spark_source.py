"""Validation of a Spark source's settings and offsets, without Spark."""

from __future__ import annotations

import pytest

from penstock.api.connector import ExactlyOnceSupport
from penstock.api.errors import ConnectError
from penstock.connectors import SparkSource
from penstock.plugins import Plugins

GOOD = {
    "name": "files",
    "topic": "t",
    "format": "json",
    "path": "/in",
    "schema": "id BIGINT",
    "checkpoint.location": "/checkpoints",
}


def errors(**changes: str | None) -> dict[str, list[str]]:
    config = {**GOOD, **{name.replace("_", "."): value for name, value in changes.items()}}
    given = {name: value for name, value in config.items() if value is not None}
    return {value.name: value.errors for value in SparkSource().validate(given) if value.errors}


def test_good_settings_are_accepted() -> None:
    assert errors() == {}
    assert errors(format="text", schema=None) == {}
    assert errors(format="rate", schema=None, path=None, transaction_boundary="poll") == {}


def test_settings_that_lack_or_contradict_are_named() -> None:
    required = 'Missing required configuration "{}" which has no default value.'
    assert errors(topic=None) == {"topic": [required.format("topic")]}
    assert errors(checkpoint_location=None) == {"checkpoint.location": [required.format("checkpoint.location")]}
    assert errors(path=None) == {"path": ["format=json needs a path, the folder to read"]}
    assert set(errors(format="Parquet", path=None, schema=None)) == {"path", "schema"}
    assert errors(schema=None) == {"schema": ["format=json needs a schema, such as `id BIGINT, name STRING`"]}
    assert list(errors(trigger_interval_ms="-1")) == ["trigger.interval.ms"]
    ((name, (problem,)),) = errors(transaction_boundary="interval").items()
    assert name == "transaction.boundary"
    assert "a Spark source ends a transaction with each batch of its query: leave it out" in problem


def test_a_source_that_can_be_read_again_can_be_exactly_once() -> None:
    assert SparkSource().exactly_once_support(GOOD) is ExactlyOnceSupport.SUPPORTED
    for name in ("socket", "Socket"):
        assert SparkSource().exactly_once_support({**GOOD, "format": name}) is ExactlyOnceSupport.UNSUPPORTED


def test_offsets_are_numbers_of_batches() -> None:
    ours = {"query": "files"}
    assert SparkSource().alter_offsets(GOOD, [(ours, {"batch": 3}), (ours, None)])
    for partition, offset in [(ours, {"batch": "3"}), (ours, {"row": 3}), (ours, {"batch": -2}), ({"query": "x"}, {})]:
        with pytest.raises(ConnectError, match=r"The source partition of|A source offset of"):
            SparkSource().alter_offsets(GOOD, [(partition, offset)])


def test_spark_source_is_listed_among_the_plugins() -> None:
    assert Plugins(()).connector({"connector.class": "penstock.connectors.SparkSource"}) is SparkSource
