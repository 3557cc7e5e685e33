"""A worker with connectors of other repositories that are queries of Spark, or read Kafka themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.kafka.client import Kafka
from support.mirror.setup import BYTES
from support.waiting import until
from support.worker_process import WorkerProcess

TESTS = Path(__file__).parents[1]
PLUGINS = (TESTS / "connectors" / "plugins", TESTS / "spark" / "query" / "plugins")


@pytest.mark.integration
@pytest.mark.slow
def test_records_pass_through_connectors_of_other_repositories(bootstrap: str, kafka: Kafka, tmp_path: Path) -> None:
    origin, copy, folder = kafka.create_topic(), kafka.create_topic(), tmp_path / "out"
    kafka.produce(origin, [json.dumps({"id": number, "name": "n"}) for number in range(20)])
    plain = {f"{each}.converter": BYTES for each in ("key", "value", "header")}
    source = {"connector.class": "foreign_kafka.TopicCopy", "servers": bootstrap, "from": origin, "to": copy, **plain}
    sink = {
        "connector.class": "foreign_queries.FolderSink",
        "topics": copy,
        "path": str(folder),
        "columns": "id BIGINT, name STRING",
        "key.converter": BYTES,
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }

    def rows() -> list[Any]:
        files = [file for file in folder.glob("*/part-*.json") if (file.parent / "_SUCCESS").exists()]
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    with WorkerProcess(bootstrap, tmp_path, plugin__path=",".join(map(str, PLUGINS))) as worker:
        refused = worker.http.put("/connectors/sink/config", json={**sink, "path": "here"})
        assert (refused.status_code, "has to be absolute" in refused.json()["message"]) == (400, True)
        for name, config in (("source", source), ("sink", sink)):
            worker.put(name, **config)
            worker.running(name)
        until(lambda: len(rows()) >= 20, "the rows")
        assert sorted(row["id"] for row in rows()) == list(range(20))
        place = {"partition": {"topic": origin, "partition": 0}, "offset": {"next": 20}}
        until(lambda: worker.get("/connectors/source/offsets")["offsets"] == [place], "the source's offset")
