"""``penstock history``, ``rollback`` and ``preview``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.rest.cluster import RestCluster

CONFIG = {"connector.class": "FileStreamSource", "topic": "t", "file": "f"}


def test_versions_are_listed_compared_and_put_into_effect(penstock: Any, url: str, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    for topic in ("t", "u"):
        file.write_text(json.dumps({"name": "c", **CONFIG, "topic": topic}))
        assert penstock("apply", "-f", str(file)).exit_code == 0
    listed = [line.split() for line in penstock("history", "c").stdout.splitlines()]
    assert [(line[0], *line[2:]) for line in listed] == [
        ("VERSION", "BY", "STATE", "CHANGE"),
        ("2", "STARTED", "~topic"),
        ("1", "STARTED", "created"),
    ]
    assert json.loads(penstock("history", "c", "1").stdout)["config"]["topic"] == "t"
    assert json.loads(penstock("history", "c", "2", "--diff").stdout)["difference"]["changed"] == {"topic": ["t", "u"]}
    same = penstock("history", "c", "1", "--diff", "--from", "1").stdout
    assert json.loads(same)["difference"] == {"added": {}, "changed": {}, "removed": {}}
    assert penstock("history", "c", "1", "--from", "1").exit_code == 2
    assert penstock("rollback", "c").stdout == "Rolled connector c back to its configuration before.\n"
    assert penstock("rollback", "c", "2").stdout == "Rolled connector c back to version 2.\n"
    assert json.loads(penstock("get", "config", "c", "-o", "json").stdout)["topic"] == "u"
    assert penstock("history", "none").exit_code == 3
    assert penstock("rollback", "c", "9").exit_code == 3


def test_events_are_listed(penstock: Any, cluster: RestCluster) -> None:
    said = penstock("history", "c", "--diff")
    assert (said.exit_code, "--diff needs a version" in said.output) == (2, True)
    assert penstock("history", "c", "--events").stdout.split() == ["TIME", "TASK", "EVENT", "WHAT"]


def test_a_preview_is_printed_record_by_record(penstock: Any, cluster: RestCluster, tmp_path: Path) -> None:
    before = {"topic": "t", "key": None, "value": "one", "headers": []}
    wrapped = {**before, "value": {"line": "one"}}
    steps = [
        {"stage": "TRANSFORMATION", "class": "a.Hoist", "alias": "h", "records": 1, "changed": True, "after": wrapped},
        {
            "stage": "TRANSFORMATION",
            "class": "a.Mask",
            "alias": "m",
            "records": 1,
            "changed": False,
            "predicate": False,
        },
        {"stage": "VALUE_CONVERTER", "class": "a.Json", "alias": None},
    ]
    failed = {"stage": "VALUE_CONVERTER", "class": "a.Json", "message": "no schema"}
    sent = {**before, "topic": "u", "value": '"one"', "headers": [["from", "f"]]}
    cluster.previewed = {
        "kind": "source",
        "error": None,
        "records": [
            {"before": before, "steps": steps, "result": None, "error": failed},
            {"before": before, "steps": [], "result": {**sent, "bytes": {"key": None, "value": 5}}, "error": None},
        ],
    }
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"name": "c", **CONFIG}))
    said = penstock("preview", str(file), "--limit", "1")
    assert (said.exit_code, said.stdout) == (
        1,
        'Record 1: t value="one"\n'
        '  h (Hoist): t value={"line": "one"}\n'
        "  m (Mask): predicate not met; unchanged\n"
        "  value_converter (Json): fails\n"
        "  fails, stage VALUE_CONVERTER: no schema\n"
        'Record 2: t value="one"\n'
        '  result: u value="\\"one\\"" headers=[["from", "f"]] (value 5 bytes)\n',
    )


TWO = """\
name: a
connector.class: FileStreamSource
batch.size: {{ size }}
---
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaConnector
metadata: {name: b}
spec: {class: FileStreamSink, tasksMax: 2, config: {topics: [t, u]}}
"""


def test_files_of_apply_are_previewed(penstock: Any, cluster: RestCluster, tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(TWO)
    assert penstock("preview", str(file), "--connector", "b", "--var", "size=7").exit_code == 0
    assert penstock("preview", str(file), "--connector", "a", "--var", "size=7").exit_code == 0
    sink = {"name": "b", "connector.class": "FileStreamSink", "tasks.max": "2", "topics": "t,u"}
    source = {"name": "a", "connector.class": "FileStreamSource", "batch.size": "7"}
    assert [(each.patch, each.config) for each in cluster.previews] == [(False, sink), (False, source)]
    both = penstock("preview", str(file), "--var", "size=7")
    assert (both.exit_code, "it has a, b." in " ".join(both.stderr.replace("│", " ").split())) == (2, True)


def test_a_patch_is_previewed(penstock: Any, cluster: RestCluster, tmp_path: Path) -> None:
    file = tmp_path / "patch.json"
    file.write_text(json.dumps({"batch.size": 7, "file": None}))
    assert penstock("preview", str(file), "--patch", "--connector", "lines").exit_code == 0
    (asked,) = cluster.previews
    assert (asked.name, asked.patch) == ("lines", True)
    assert asked.config == {"name": "lines", "batch.size": "7", "file": None}
    assert "missing the mandatory 'name'" in penstock("preview", str(file), "--patch").stderr
