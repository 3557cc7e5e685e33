"""The attention list of a real worker: its rows from its topics and from the brokers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic

from support.kafka.client import Kafka
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = pytest.mark.integration


PROVIDERS = {
    "config.providers": "file",
    "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
}


@pytest.fixture(scope="module")
def worker(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    with WorkerProcess(bootstrap, tmp_path_factory.mktemp("worker"), **PROVIDERS) as worker:
        yield worker


def rows(worker: WorkerProcess, connector: str) -> list[dict[str, Any]]:
    """Return the rows about a connector and those about none; other tests have their own connectors."""
    found: list[dict[str, Any]] = worker.get("/penstock/v1/attention")["rows"]
    return [row for row in found if row["connector"] in (connector, None)]


def kinds(worker: WorkerProcess, connector: str) -> list[str]:
    return [row["kind"] for row in rows(worker, connector)]


def test_a_sink_without_its_topic_and_a_pause(worker: WorkerProcess, kafka: Kafka, tmp_path: Path) -> None:
    topic = f"late-{uuid.uuid4().hex}"
    worker.put("late", connector__class="FileStreamSink", topics=topic, file=str(tmp_path / "out.txt"))
    worker.running("late")
    until(lambda: kinds(worker, "late") == ["missing-topics"], "the row about the topic")
    assert f"topic {topic} does not exist" in rows(worker, "late")[0]["why"]
    kafka.create(NewTopic(topic, 1, 1))
    until(lambda: kinds(worker, "late") == [], "the end of the row")
    worker.http.put("/connectors/late/pause")
    until(lambda: kinds(worker, "late") == ["paused"], "the row about the pause")
    assert rows(worker, "late")[0]["since"] is not None


def test_a_password_that_has_changed_and_kinds_that_are_muted(
    worker: WorkerProcess, kafka: Kafka, tmp_path: Path
) -> None:
    topic, secrets = f"lines-{uuid.uuid4().hex}", tmp_path / "secrets.properties"
    kafka.create(NewTopic(topic, 1, 1))
    secrets.write_text("password=one\n")
    config = {
        "topics": topic,
        "file": str(tmp_path / "out.txt"),
        "sasl.password": f"${{file:{secrets}:password}}",
        "connector.class": "FileStreamSink",
        "penstock.attention.muted": "ignored",
    }
    worker.put("lines", **config)
    worker.running("lines")
    assert rows(worker, "lines") == []
    secrets.write_text("password=two\n")
    until(lambda: kinds(worker, "lines") == ["outdated"], "the row about the password")
    (row,) = rows(worker, "lines")
    assert row["why"].startswith("The files of sasl.password have changed")
    assert row["next"]["command"] == "penstock restart lines --include-tasks"
    worker.http.post("/connectors/lines/restart?includeTasks=true")
    until(lambda: rows(worker, "lines") == [], "the end of the row")

    refused = worker.http.put("/connectors/lines/config", json={**config, "penstock.attention.muted": "failed"})
    assert refused.status_code == 400
    assert "penstock.attention.muted" in refused.json()["message"]
    worker.put("lines", **{**config, "penstock.attention.muted": "paused, stopped, ignored"})
    worker.http.put("/connectors/lines/pause")
    until(lambda: worker.get("/connectors/lines/status")["connector"]["state"] == "PAUSED", "the pause")
    assert rows(worker, "lines") == []
    worker.put("lines", **config)
    until(lambda: kinds(worker, "lines") == ["paused"], "the row about the pause")


def test_a_setting_without_effect_has_a_row_until_it_is_removed(
    worker: WorkerProcess, kafka: Kafka, tmp_path: Path
) -> None:
    topic = f"lines-{uuid.uuid4().hex}"
    kafka.create(NewTopic(topic, 1, 1))
    config = {"connector.class": "FileStreamSink", "topics": topic, "file": str(tmp_path / "out.txt")}
    worker.put("misspelt", **config, flie="x")
    until(lambda: kinds(worker, "misspelt") == ["ignored"], "the row about the setting")
    assert rows(worker, "misspelt")[0]["next"]["command"] == "penstock patch misspelt --unset=flie"
    assert worker.http.patch("/connectors/misspelt/config", json={"flie": None}).status_code == 200
    until(lambda: rows(worker, "misspelt") == [], "the end of the row")
