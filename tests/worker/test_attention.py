"""The attention list of a real worker: its rows from its topics and from the brokers."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic

from support.kafka.client import Kafka
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = pytest.mark.integration


def test_a_sink_without_its_topic_and_a_pause(bootstrap: str, kafka: Kafka, tmp_path: Path) -> None:
    topic = f"late-{uuid.uuid4().hex}"
    with WorkerProcess(bootstrap, tmp_path) as worker:

        def rows() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = worker.get("/penstock/v1/attention")["rows"]
            return found

        def kinds() -> list[str]:
            return [row["kind"] for row in rows()]

        worker.put("lines", connector__class="FileStreamSink", topics=topic, file=str(tmp_path / "out.txt"))
        worker.running("lines")
        until(lambda: kinds() == ["missing-topics"], "the row about the topic")
        assert f"topic {topic} does not exist" in rows()[0]["why"]
        kafka.create(NewTopic(topic, 1, 1))
        until(lambda: kinds() == [], "the end of the row")
        worker.http.put("/connectors/lines/pause")
        until(lambda: kinds() == ["paused"], "the row about the pause")
        (row,) = rows()
        assert (row["connector"], row["since"] is not None) == ("lines", True)


def test_a_password_that_has_changed_and_kinds_that_are_muted(bootstrap: str, kafka: Kafka, tmp_path: Path) -> None:
    topic, secrets = f"lines-{uuid.uuid4().hex}", tmp_path / "secrets.properties"
    kafka.create(NewTopic(topic, 1, 1))
    secrets.write_text("password=one\n")
    providers = {
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    }
    with WorkerProcess(bootstrap, tmp_path, **providers) as worker:

        def rows() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = worker.get("/penstock/v1/attention")["rows"]
            return found

        config = {
            "topics": topic,
            "file": str(tmp_path / "out.txt"),
            "sasl.password": f"${{file:{secrets}:password}}",
            "connector.class": "FileStreamSink",
            "penstock.attention.muted": "ignored",
        }
        worker.put("lines", **config)
        worker.running("lines")
        assert rows() == []
        secrets.write_text("password=two\n")
        until(lambda: [row["kind"] for row in rows()] == ["outdated"], "the row about the password")
        (row,) = rows()
        assert row["why"].startswith("The files of sasl.password have changed")
        assert row["next"]["command"] == "penstock restart lines --include-tasks"
        worker.http.post("/connectors/lines/restart?includeTasks=true")
        until(lambda: rows() == [], "the end of the row")

        refused = worker.http.put("/connectors/lines/config", json={**config, "penstock.attention.muted": "failed"})
        assert refused.status_code == 400
        assert "penstock.attention.muted" in refused.json()["message"]
        worker.put("lines", **{**config, "penstock.attention.muted": "paused, stopped, ignored"})
        worker.http.put("/connectors/lines/pause")
        until(lambda: worker.get("/connectors/lines/status")["connector"]["state"] == "PAUSED", "the pause")
        assert rows() == []
        worker.put("lines", **config)
        until(lambda: [row["kind"] for row in rows()] == ["paused"], "the row about the pause")


def test_a_setting_without_effect_has_a_row_until_it_is_removed(bootstrap: str, kafka: Kafka, tmp_path: Path) -> None:
    topic = f"lines-{uuid.uuid4().hex}"
    kafka.create(NewTopic(topic, 1, 1))
    with WorkerProcess(bootstrap, tmp_path) as worker:

        def rows() -> list[tuple[str, str]]:
            return [(row["kind"], row["next"]["command"]) for row in worker.get("/penstock/v1/attention")["rows"]]

        config = {"connector.class": "FileStreamSink", "topics": topic, "file": str(tmp_path / "out.txt")}
        worker.put("lines", **config, flie="x")
        until(lambda: rows() == [("ignored", "penstock patch lines --unset=flie")], "the row about the setting")
        assert worker.http.patch("/connectors/lines/config", json={"flie": None}).status_code == 200
        until(lambda: rows() == [], "the end of the row")
