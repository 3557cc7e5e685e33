"""``penstock schemas``, against a worker and a registry in this process."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.core.model.tasks import TaskId
from penstock.http.client import Client
from pipeline.converters.registry.registry_double import RegistryDouble, running_double
from support.rest.cluster import RestCluster

pytest.importorskip("confluent_kafka.schema_registry")

AVRO = "io.confluent.connect.avro.AvroConverter"


@pytest.fixture
def registry() -> Any:
    with running_double() as double:
        for text in ('"string"', '"long"'):
            double.register("t-value", {"schema": text})
        double.register("other-value", {"schema": '"int"'})
        yield double


def create(url: str, cluster: RestCluster, **more: str) -> None:
    with Client(url) as worker:
        worker.create("orders", {"connector.class": "FileStreamSource", "topic": "t", "file": "f", **more})
    cluster.use_topic(TaskId("orders", 0), "t")


def test_the_subjects_of_a_connectors_topics(
    penstock: Any, url: str, cluster: RestCluster, registry: RegistryDouble
) -> None:
    config = {"value.converter": AVRO, "value.converter.schema.registry.url": registry.url}
    create(url, cluster, **config)
    assert penstock("schemas", "orders").stdout.splitlines() == [
        "TOPIC  OF     SUBJECT  VERSION  ID  TYPE",
        "t      value  t-value  2        2   AVRO",
    ]
    assert json.loads(penstock("schemas", "orders", "-o", "json").stdout) == [
        {"topic": "t", "of": "value", "subject": "t-value", "version": 2, "id": 2, "type": "AVRO"}
    ]


def test_a_connector_without_a_registry(penstock: Any, url: str, cluster: RestCluster) -> None:
    create(url, cluster)
    assert "has used no schema of a registry" in penstock("schemas", "orders").stdout


def test_a_connector_that_does_not_exist(penstock: Any) -> None:
    assert penstock("schemas", "none").exit_code == 3
