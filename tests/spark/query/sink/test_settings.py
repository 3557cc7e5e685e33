"""Settings of a Spark sink that contradict each other are refused by a sentence."""

from __future__ import annotations

import pytest

from penstock.connectors.spark.sink_settings import SinkSettings, sink_problems

UPSERT = {
    "format": "delta",
    "path": "/t",
    "insert.mode": "upsert",
    "pk.mode": "record_key",
    "pk.fields": "id",
    "delete.enabled": "true",
}


def test_pk_fields_are_the_keys_of_an_upsert() -> None:
    assert sink_problems(UPSERT) == []
    settings = SinkSettings.of(UPSERT)
    assert (settings.keys, settings.deletes) == (("id",), True)
    assert SinkSettings.of({"format": "delta", "path": "/t"}).keys is None


@pytest.mark.parametrize(
    ("changed", "name", "said"),
    [
        ({"format": "parquet"}, "insert.mode", "upsert needs format=delta: rows of format=parquet can't be changed"),
        ({"format": "iceberg"}, "insert.mode", "rows of format=iceberg can't be changed"),
        ({"path": "data/t"}, "path", "has to be absolute for insert.mode=upsert"),
        ({"path": "s3a://data"}, "path", "has to be absolute for insert.mode=upsert"),
        ({"mode": "overwrite"}, "mode", "overwrite replaces all rows"),
        ({"sql": "SELECT 1"}, "sql", "is not supported with insert.mode=upsert"),
        ({"pk.mode": ""}, "pk.mode", "set pk.mode=record_key"),
        ({"pk.fields": " , "}, "pk.fields", "needs the names of the key's columns"),
    ],
)
def test_upserts_with_missing_or_contradicting_settings_are_refused(
    changed: dict[str, str], name: str, said: str
) -> None:
    ((found, sentence),) = sink_problems(UPSERT | changed)
    assert found == name
    assert said in sentence


@pytest.mark.parametrize("path", ["/data/t", "file:/data/t", "file:///data/t", "s3a://data/t", "hdfs://name:8020/t"])
def test_absolute_paths_of_upserts(path: str) -> None:
    assert sink_problems(UPSERT | {"path": path}) == []


def test_keys_of_rows_that_are_only_added() -> None:
    found = sink_problems(UPSERT | {"insert.mode": "insert"})
    assert [name for name, _ in found] == ["pk.mode", "pk.fields", "delete.enabled"]
    assert sink_problems({"path": "/t", "pk.mode": "none", "delete.enabled": "false"}) == []


@pytest.mark.parametrize(
    ("given", "drift"),
    [
        ({}, "evolve"),
        ({"schema.evolution": "ignore"}, "ignore"),
        ({"schema.evolution": "fail"}, "stop"),
        ({"schema.drift": "dead-letter"}, "dead-letter"),
        ({"schema.drift": "stop", "schema.evolution": "fail"}, "stop"),
    ],
)
def test_drift_of_schemas_is_what_the_older_setting_says_unless_it_is_set(given: dict[str, str], drift: str) -> None:
    assert sink_problems({"path": "/t", **given}) == []
    assert SinkSettings.of({"path": "/t", **given}).drift == drift


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"schema.drift": "evolve", "schema.evolution": "fail"}, "schema.drift=evolve and schema.evolution=fail"),
        (
            {"schema.drift": "dead-letter", "schema.evolution": "ignore"},
            "contradict each other: leave schema.evolution",
        ),
        ({"schema.drift": "dead-letter", "sql": "SELECT 1"}, "sql decides about columns: set ignore or stop"),
        ({"schema.drift": "dead-letter", "schema": "id INT"}, "schema decides about columns"),
    ],
)
def test_settings_of_drift_that_contradict_others_are_refused(given: dict[str, str], said: str) -> None:
    ((name, sentence),) = sink_problems({"path": "/t", **given})
    assert name == "schema.drift"
    assert said in sentence


def test_formats_have_their_guarantees_in_any_case() -> None:
    assert SinkSettings.of({"format": " Parquet", "path": "/t"}).format == "parquet"
    assert sink_problems(UPSERT | {"format": "Delta"}) == []
    assert [name for name, _ in sink_problems({"format": "JSON"})] == ["path"]
    assert SinkSettings.of({"format": "com.example.MyFormat"}).format == "com.example.MyFormat"
