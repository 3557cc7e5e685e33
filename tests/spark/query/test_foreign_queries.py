"""Query connectors of another repository, in a folder of ``plugin.path``, which import only the public API."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.api.connector import Connector
from penstock.api.errors import ConnectError
from penstock.plugins.registry import Plugins
from support.import_graph import imported_names
from support.kafka.client import Kafka
from support.spark.host import Hosted
from support.spark.queries import COLUMNS, Query, Source, ids, make
from support.tasks.runs import eventually

PLUGINS = Path(__file__).parent / "plugins"


def connector(name: str) -> Connector:
    cls: Callable[[], Connector] = Plugins.discover((str(PLUGINS),)).connector(
        {"connector.class": f"foreign_queries.{name}"}
    )
    return cls()


def test_they_import_nothing_but_the_api() -> None:
    used = imported_names((PLUGINS / "foreign_queries.py").read_text("utf-8"), "")
    assert {name.rpartition(".")[0] for name in used if name.startswith("penstock")} == {
        "penstock.api.config",
        "penstock.api.query",
    }


def test_their_settings_are_checked() -> None:
    sink = connector("FolderSink")
    found = {value.name: value.errors for value in sink.validate({"path": "here"})}
    assert found["path"] == ["has to be absolute"]
    assert found["columns"], "it is required"


def test_offsets_of_a_source_are_numbers_of_batches() -> None:
    source: Any = connector("FolderSource")
    own, config = {"query": "q"}, {"name": "q"}
    assert source.alter_offsets(config, [(own, {"batch": 7}), ({"of": "another"}, None)])
    for partition, offset in (({"query": "other"}, {"batch": 7}), (own, {"batch": "7"}), (own, {"offset": 7})):
        with pytest.raises(ConnectError):
            source.alter_offsets(config, [(partition, offset)])


class ForeignSink(Query):
    task_class = "foreign_queries:FolderSinkTask"


class ForeignSource(Source):
    task_class = "foreign_queries:FolderSourceTask"


def rows_in(folder: Path) -> list[dict[str, Any]]:
    files = [file for file in folder.glob("*/part-*.json") if (file.parent / "_SUCCESS").exists()]
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


@pytest.mark.integration
@pytest.mark.slow
def test_a_sink_writes_its_batches_once(hosted: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    topic, folder = kafka.create_topic(partitions=2), tmp_path / "out"
    with ForeignSink(hosted, kafka, topic, {"topics": topic, "path": str(folder), "columns": COLUMNS}) as sink:
        sink.plugin_path = (str(PLUGINS),)
        kafka.produce(topic, [json.dumps(row) for row in make(0, 100)])
        sink.start()
        eventually(lambda: sink.fine() and len(rows_in(folder)) >= 100, 900)
        sink.stop()
        kafka.produce(topic, [json.dumps(row) for row in make(100, 120)])
        sink.start()
        eventually(lambda: sink.fine() and len(rows_in(folder)) >= 120, 900)
        sink.stop()
    rows = rows_in(folder)
    assert ids(rows) == list(range(120))
    assert {tuple(row) for row in rows} == {("id", "name", "part")}
    assert all(made.name.startswith(f"connect-{sink.name}-") for made in folder.iterdir())


class KeepingSink(Query):
    task_class = "foreign_queries:KeepingSinkTask"


@pytest.mark.integration
@pytest.mark.slow
def test_a_target_that_keeps_offsets_is_told_where_each_run_begins(
    hosted: Hosted, kafka: Kafka, tmp_path: Path
) -> None:
    topic, folder, begun = kafka.create_topic(), tmp_path / "out", tmp_path / "out.begun"

    def begins() -> list[Any]:
        return [json.loads(line) for line in begun.read_text().splitlines()] if begun.exists() else []

    with KeepingSink(hosted, kafka, topic, {"topics": topic, "path": str(folder), "columns": COLUMNS}) as sink:
        sink.plugin_path = (str(PLUGINS),)
        kafka.produce(topic, [json.dumps(row) for row in make(0, 50)])
        sink.start()
        eventually(lambda: sink.fine() and len(rows_in(folder)) >= 50, 900)
        sink.stop()
        assert begins()[0] == [0, []]
        (tmp_path / "out.stored").write_text(json.dumps([[topic, 0, 7], ["another", 0, 3]]))
        sink.start()
        eventually(lambda: sink.fine() and begins()[-1][1] == [[topic, 0, 50]], 900)


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.parametrize("exactly_once", [True, False])
def test_a_source_sends_its_rows_once(hosted: Hosted, kafka: Kafka, tmp_path: Path, exactly_once: bool) -> None:
    more = {"checkpoint": str(tmp_path / "checkpoint"), "columns": COLUMNS}
    with ForeignSource(hosted, kafka, tmp_path, exactly_once, **more) as source:
        source.plugin_path = (str(PLUGINS),)
        source.add("1.json", *make(0, 50))
        source.start()
        assert ids(source.wait(50)) == list(range(1, 51))
        source.batch(0)
        source.stop()
        source.add("2.json", *make(50, 60))
        source.start()
        assert ids(source.wait(60)) == list(range(1, 61))
        source.batch(1)
        assert {record.key for record in kafka.read_all(source.topic)} == {b"n0", b"n1", b"n2"}
