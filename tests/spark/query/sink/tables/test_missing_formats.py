"""Formats and object stores whose jars are missing fail their connector with one message, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.spark.query.object_stores import missing_connector
from penstock.spark.versions import refusal, release
from support.kafka.client import Kafka
from support.spark.host import Hosted
from support.spark.queries import COLUMNS, Sink, Source, make

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_format_that_is_not_there_fails_its_connector_alone(
    hosted: Hosted, kafka: Kafka, tmp_path: Path, format: str
) -> None:
    with Sink(hosted, kafka, kafka.create_topic(), tmp_path / "other", schema=COLUMNS) as other:
        other.produce(*make(0, 3))
        other.start()
        with Sink(hosted, kafka, kafka.create_topic(), tmp_path / "table", format=format) as sink:
            assert str(refusal(format, None, release())) in sink.refusal()
        assert len(other.wait(3)) == 3


@pytest.mark.parametrize("path", ["s3a://lake/t", "gs://lake/t", "abfss://lake@account.dfs.core.windows.net/t"])
def test_a_store_whose_connector_is_not_there_is_named(hosted: Hosted, kafka: Kafka, tmp_path: Path, path: str) -> None:
    with Sink(hosted, kafka, kafka.create_topic(), tmp_path, path=path) as sink:
        assert missing_connector("path", path, release()) in sink.refusal()


@pytest.mark.parametrize("key", ["path", "checkpoint.location"])
def test_a_source_names_the_store_whose_connector_is_not_there(
    hosted: Hosted, kafka: Kafka, tmp_path: Path, key: str
) -> None:
    with Source(hosted, kafka, tmp_path, schema=COLUMNS, **{key: "s3a://lake/t"}) as source:
        assert missing_connector(key, "s3a://lake/t", release()) in source.refusal()
