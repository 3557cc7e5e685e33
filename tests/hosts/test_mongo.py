"""MongoDB's sink, unchanged, into a server in memory that speaks MongoDB's protocol."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hosts.plugins import HERE, plugin_path
from penstock.embedded.jars import jars
from penstock.embedded.java import java
from penstock.hosts.jvm.build import jar_of
from penstock.hosts.jvm.plugins.catalogue import find
from penstock.hosts.jvm.tasks.sink_task import JavaSinkTask
from support.jars import listed, require
from support.kafka.client import Kafka, Record
from support.tasks.runs import JSON, STRING, TaskRun, eventually

pytestmark = pytest.mark.integration

SECONDS = 300
SERVER = HERE / "jars" / "mongo-server.jars"
CLIENT = HERE / "jars" / "mongo.jars"


class Mongo:
    """The server; ``documents`` are what a collection has."""

    def __init__(self) -> None:
        used = listed(SERVER) + listed(CLIENT)
        own = jar_of(HERE / "java" / "mongo-server", "test-mongo-server", used)
        command = [java().executable, "-Xmx64m", "-cp", os.pathsep.join(map(str, [own, *used]))]
        self._process = subprocess.Popen(
            [*command, "penstock.tests.MongoInMemory"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.address = self._line()

    def documents(self, collection: str) -> list[dict[str, object]]:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{collection}\n")
        self._process.stdin.flush()
        return [json.loads(line) for line in iter(self._line, ".")]

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        assert line, "the server has ended"
        return line

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def mongo() -> Iterator[Mongo]:
    require(SERVER)
    require(CLIENT)
    server = Mongo()
    yield server
    server.end()


def test_documents_are_written_changed_and_deleted(bootstrap: str, kafka: Kafka, mongo: Mongo, tmp_path: Path) -> None:
    path = plugin_path(tmp_path / "plugins", "mongo")
    assert find((path,), None) is not None
    assert jars("connect")
    topic = kafka.create_topic()
    queue = kafka.create_topic()
    config = {
        "connector.class": "com.mongodb.kafka.connect.MongoSinkConnector",
        "task.class": "com.mongodb.kafka.connect.sink.MongoSinkTask",
        "topics": topic,
        "connection.uri": mongo.address,
        "database": "test",
        "collection": "rows",
        "key.converter": STRING,
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
        "document.id.strategy": "com.mongodb.kafka.connect.sink.processor.id.strategy.PartialValueStrategy",
        "document.id.strategy.partial.value.projection.list": "id",
        "document.id.strategy.partial.value.projection.type": "AllowList",
        "writemodel.strategy": "com.mongodb.kafka.connect.sink.writemodel.strategy.ReplaceOneBusinessKeyStrategy",
        "mongo.errors.tolerance": "all",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": queue,
        "errors.deadletterqueue.topic.replication.factor": "1",
    }
    kafka.produce(
        topic, [b'{"id": 1, "a": "one"}', b'{"id": 2, "a": [1.5, null]}', b'{"id": 1, "a": "uno"}', b'"text"']
    )

    def rows() -> list[tuple[object, object]]:
        return sorted((each["id"], each["a"]) for each in mongo.documents("rows"))  # type: ignore[type-var]

    with TaskRun(JavaSinkTask, bootstrap, config, plugin_path=(path,)) as run:
        eventually(lambda: run.check() or rows() == [(1, "uno"), (2, [1.5, None])], SECONDS)
        eventually(lambda: run.check() or kafka.values(queue) == [b'"text"'], SECONDS)
        kafka.produce(topic, [Record(b'{"id": 3, "a": {"b": true}}')])
        eventually(lambda: run.check() or len(rows()) == 3, SECONDS)
    eventually(lambda: kafka.committed(f"connect-{run.connector}") == {(topic, 0): 5})
