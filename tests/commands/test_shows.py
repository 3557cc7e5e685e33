"""Commands that show what there is."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import Any

import pytest
import yaml

from commands.conftest import CONFIG
from penstock.api.config import ConfigDef
from penstock.commands._rest import complete_connector
from penstock.core.config.catalog import Catalog, Kind, PluginClass
from penstock.core.model import messages as m
from penstock.core.model.tasks import SparkDied, SparkReady, TaskId
from penstock.http.client import Client
from support.rest.cluster import RestCluster
from support.waiting import until


def test_there_is_nothing_yet(penstock: Any) -> None:
    assert penstock("status").stdout == "There are no connectors.\n"
    assert json.loads(penstock("status", "-o", "json").stdout) == {}


@pytest.mark.usefixtures("source", "sink")
@pytest.mark.parametrize(
    ("command", "names"),
    [
        (("status",), ["lines out", "orders"]),
        (("status", "orders"), ["orders"]),
        (("get", "connectors"), ["lines out", "orders"]),
        (("get", "config", "orders"), ["connector.class", "file", "name", "topic"]),
        (("get", "offsets", "orders"), []),
        (("workers",), ["one"]),
        (("topics", "orders"), []),
        (("topics", "explain", "orders", "t"), []),
        (("history", "orders"), ["1"]),
        (("schemas", "orders"), []),
        (("help", "errors.tolerance"), ["errors.tolerance"]),
    ],
)
def test_names_and_yaml(penstock: Any, command: tuple[str, ...], names: list[str]) -> None:
    named = penstock(*command, "-o", "name")
    assert (named.exit_code, sorted(named.stdout.splitlines())) == (0, names)
    as_json, as_yaml = penstock(*command, "-o", "json"), penstock(*command, "-o", "yaml")
    assert as_yaml.stdout.startswith("---")
    assert yaml.safe_load(as_yaml.stdout) == json.loads(as_json.stdout)


@pytest.mark.usefixtures("source")
def test_what_has_no_names_is_not_shown_as_names(penstock: Any) -> None:
    said = penstock("logs", "orders", "-o", "name")
    assert (said.exit_code, said.stdout) == (2, "")
    assert "has no names" in said.stderr


def test_texts_that_control_the_terminal_are_escaped_in_yaml(penstock: Any, worker: Client) -> None:
    worker.create("n", {**CONFIG, "file": "ü\u202e\u001b[31m"})
    shown = penstock("get", "config", "n", "-o", "yaml").stdout
    assert yaml.safe_load(shown)["file"] == "ü\u202e\u001b[31m"
    assert not {"\u202e", "\u001b"} & set(shown)


@pytest.mark.usefixtures("source")
def test_a_new_connector_is_shown_without_a_status(penstock: Any, cluster: RestCluster) -> None:
    del cluster.workers["one"].herder.statuses.connectors["orders"]
    for chosen in ((), ("ord*",)):
        shown = penstock("status", *chosen).stdout
        assert shown.endswith("Connector orders has no status yet.\n")
        assert ("No worker has reported a status of it" in shown) == (not chosen)
        assert json.loads(penstock("status", *chosen, "-o", "json").stdout) == {}


@pytest.mark.usefixtures("source", "sink")
def test_the_workers(penstock: Any, cluster: RestCluster) -> None:
    cluster.metrics("one").observe(SparkReady(4))
    cluster.metrics("one").observe(SparkReady(4, queries=True))
    cluster.metrics("one").observe(SparkDied("it was killed", queries=True))
    cluster.fail(TaskId("orders", 0), "the disk is full")
    membership = cluster.workers["one"].herder.membership
    membership.owners = replace(membership.owners, workers=("http://one", "http://gone"))
    said = penstock("workers")
    head, row = said.stdout.splitlines()
    assert head.split() == ["WORKER", "GENERATION", "CONNECTORS", "TASKS", "FAILED", "SPARK"]
    spark = "hosted: running; queries: not running, ended once"
    assert row.split(maxsplit=6) == ["one", "(leader)", str(membership.generation), "2", "2", "1", spark]
    assert said.stderr == "penstock: Worker gone has not answered.\n"
    assert json.loads(penstock("workers", "-o", "json").stdout)["unreachable"] == ["gone"]


def test_a_connector_that_does_not_exist(penstock: Any) -> None:
    for command in (["status"], ["get", "config"], ["get", "offsets"], ["topics"], ["logs"], ["offsets", "reset"]):
        said = penstock(*command, "nobody")
        assert said.exit_code == 3, command
        assert said.stderr.startswith("penstock: "), command
        assert "nobody" in said.stderr, command


@pytest.mark.usefixtures("source", "sink")
def test_get(penstock: Any, worker: Client) -> None:
    assert penstock("get", "connectors").stdout.splitlines() == [
        "NAME       TYPE    CLASS             TASKS",
        "lines out  sink    FileStreamSink    1",
        "orders     source  FileStreamSource  1",
    ]
    assert penstock("get", "config", "orders").stdout.splitlines() == [
        "SETTING          VALUE",
        "connector.class  FileStreamSource",
        "file             f",
        "name             orders",
        "topic            t",
    ]
    assert json.loads(penstock("get", "config", "orders", "-o", "json").stdout) == worker.config("orders")
    assert "org.apache.kafka.connect.file.FileStreamSourceConnector" in penstock("get", "plugins").stdout
    assert "JsonConverter" not in penstock("get", "plugins").stdout
    assert "org.apache.kafka.connect.json.JsonConverter" in penstock("get", "plugins", "--all").stdout
    assert penstock("get", "loggers").stdout.startswith("LOGGER ")


def test_plugins_that_can_not_be_used(penstock: Any, cluster: RestCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = "org.z.New of /jars/new.jar can't be used: it is compiled for Java 99, and this is Java 17"
    newer = PluginClass("org.z.New", (Kind.SINK,), "undefined", ConfigDef, problem=problem)
    monkeypatch.setattr(cluster.plugins, "_catalog", Catalog([newer]))
    said = penstock("get", "plugins")
    assert said.stdout.split() == ["CLASS", "TYPE", "VERSION"]
    assert said.stderr == f"{problem}\n"
    shown = {"class": "org.z.New", "type": "sink", "problem": problem}
    assert json.loads(penstock("get", "plugins", "-o", "json").stdout) == [shown]


@pytest.mark.usefixtures("sink")
def test_offsets(penstock: Any, worker: Client) -> None:
    worker.stop("lines out")
    altered = penstock("offsets", "alter", "lines out", "t:0=42", "t:1=7")
    assert (altered.exit_code, altered.stdout) == (0, "Connector lines out: altered.\n")
    assert penstock("get", "offsets", "lines out").stdout.splitlines() == [
        "PARTITION                                   OFFSET",
        '{"kafka_topic": "t", "kafka_partition": 0}  {"kafka_offset": 42}',
        '{"kafka_topic": "t", "kafka_partition": 1}  {"kafka_offset": 7}',
    ]
    kept = penstock("offsets", "get", "lines out", "-o", "json").stdout
    assert penstock("offsets", "reset", "lines out").exit_code == 0
    assert worker.offsets("lines out") == []
    assert penstock("offsets", "alter", "lines out", "-f", "-", input=kept).exit_code == 0
    assert worker.offsets("lines out") == json.loads(kept)["offsets"]


@pytest.mark.usefixtures("sink")
def test_offsets_that_are_none(penstock: Any) -> None:
    for wrong in (["t=4"], ["t:0=x"], [], ["-f", "-"], ["t:0=4", "-f", "-"]):
        assert penstock("offsets", "alter", "lines out", *wrong, input='{"offset": 1}').exit_code == 2
    running = penstock("offsets", "alter", "lines out", "t:0=42")
    assert running.exit_code == 1
    assert "STOPPED" in running.stderr


@pytest.mark.usefixtures("source")
def test_topics(penstock: Any, cluster: RestCluster) -> None:
    assert penstock("topics", "orders").stdout == "Connector orders has used no topic.\n"
    cluster.use_topic(TaskId("orders", 0), "u")
    cluster.use_topic(TaskId("orders", 0), "t")
    assert penstock("topics", "orders").stdout == "t\nu\n"
    assert penstock("topics", "--reset", "orders").stdout == "Reset the topics of connector orders.\n"
    assert json.loads(penstock("topics", "orders", "-o", "json").stdout) == {"orders": {"topics": []}}


GROUPS = {
    "topic.creation.groups": "big",
    "topic.creation.big.include": "orders-.*",
    "topic.creation.big.partitions": "12",
    "topic.creation.big.cleanup.policy": "compact",
    "topic.creation.default.partitions": "1",
    "topic.creation.default.replication.factor": "-1",
}
DRAFT = {"topic.creation": "big", "topic.creation.big.regex": "orders-.*", "topic.creation.big.partitions": "12"}


@pytest.mark.parametrize(
    ("rules", "topic", "said"),
    [
        (
            GROUPS,
            "orders-eu",
            "Topic orders-eu matches rule big (topic.creation.big.include=orders-.*).\n"
            "It is created with 12 partitions, the broker's default replication factor, cleanup.policy=compact, "
            "unless it exists or the task decides otherwise.\n",
        ),
        (
            GROUPS,
            "other",
            "Topic other matches rule default, as every topic does that matches no other.\n"
            "It is created with 1 partition, the broker's default replication factor, "
            "unless it exists or the task decides otherwise.\n",
        ),
        (
            DRAFT,
            "orders-eu",
            "Topic orders-eu matches rule big (topic.creation.big.regex=orders-.*).\n"
            "It is created with 12 partitions, the broker's default replication factor, "
            "unless it exists or the task decides otherwise.\n",
        ),
        (
            DRAFT,
            "other",
            "No rule of connector orders matches topic other: its creation is left to the broker.\n",
        ),
        (
            {},
            "other",
            "Connector orders has no rules for new topics: the creation of other is left to the broker.\n",
        ),
    ],
)
def test_settings_of_topics_to_create_are_shown(
    penstock: Any, worker: Client, rules: dict[str, str], topic: str, said: str
) -> None:
    worker.create("orders", CONFIG | rules)
    explained = penstock("topics", "explain", "orders", topic)
    assert (explained.exit_code, explained.stdout) == (0, said)


def test_patterns_that_are_none_together(penstock: Any, worker: Client) -> None:
    worker.create("orders", CONFIG | GROUPS | {"topic.creation.big.include": "(?<n>a),(?<n>b)"})
    explained = penstock("topics", "explain", "orders", "t")
    assert (explained.exit_code, explained.stdout) == (1, "")
    assert explained.stderr.startswith(
        "penstock: Patterns of connector orders are no regular expression together: "
        "Named capturing group <n> is already defined near index"
    )


@pytest.mark.usefixtures("sink")
def test_sinks_create_no_topics(penstock: Any, worker: Client) -> None:
    said = penstock("topics", "explain", "lines out", "t").stdout
    assert said == "Connector lines out is a sink: it reads topics and creates none.\n"


@pytest.mark.usefixtures("source")
def test_logs(penstock: Any, cluster: RestCluster) -> None:
    write(cluster, logging.INFO, "well", None)
    write(cluster, logging.ERROR, "bad", 0)
    bad = "2026-01-02T03:04:05.000Z ERROR [one task-0] bad (penstock.x)\n"
    lines = f"2026-01-02T03:04:05.000Z INFO [one] well (penstock.x)\n{bad}"
    assert penstock("logs", "orders").stdout == f"Nothing of connector orders has failed.\n{lines}"
    cluster.fail(TaskId("orders", 0), "the disk is full\n\tat line 1\n")
    assert penstock("logs", "orders").stdout == (
        f"Task 0 of connector orders is FAILED on one:\n    the disk is full\n    \tat line 1\n{lines}"
    )
    for narrowed in (("--min-level", "WARN"), ("--task", "0"), ("-n", "1")):
        assert penstock("logs", "orders", *narrowed).stdout.endswith(f"at line 1\n{bad}")
    assert "must be one of" in penstock("logs", "orders", "--min-level", "LOUD").stderr


@pytest.mark.usefixtures("source")
def test_logs_are_followed_until_the_connector_is_deleted(penstock: Any, worker: Client, cluster: RestCluster) -> None:
    write(cluster, logging.INFO, "before", 0)
    lines = worker.follow_logs("orders", {"level": "INFO"})
    assert next(lines)["message"] == "before"
    write(cluster, logging.DEBUG, "too little", 0)
    write(cluster, logging.WARNING, "after", 1)
    assert (line := next(lines))["message"] == "after"
    assert (line["level"], line["task"], line["worker"]) == ("WARN", 1, "one")
    cluster.submit("one", m.DeleteConnector("orders"))
    assert list(lines) == []
    assert penstock("logs", "orders", "-f").exit_code == 3


def write(cluster: RestCluster, level: int, text: str, task: int | None) -> None:
    record = logging.LogRecord("penstock.x", level, "x.py", 1, text, (), None)
    record.created, record.connector, record.task = 1767323045.0, "orders", task
    cluster.log_lines["one"].handle(record)


@pytest.mark.usefixtures("source")
def test_log_levels(penstock: Any, cluster: RestCluster) -> None:
    told: list[str] = []
    cluster.trace = told.append
    said = penstock("logs", "orders", "--level", "debug")
    assert said.stdout == (
        "Logger org.apache.kafka.connect.file is at DEBUG on all workers, for every connector whose code uses it.\n"
    )
    assert any("org.apache.kafka.connect.file" in line and "debug" in line for line in told)
    refused = penstock("logs", "orders", "--level", "loud")
    assert (refused.exit_code, refused.stderr) == (3, "penstock: invalid log level 'loud'.\n")
    assert penstock("logs", "orders", "--logger", "x").exit_code == 2


@pytest.mark.usefixtures("source", "sink")
def test_names_are_completed(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CA", "")  # as good as not set

    class Context:
        params = {"url": url}

    # It gives up soon, since a user who presses a key does not wait.
    assert until(lambda: complete_connector(Context(), "or"), "completion") == ["orders"]  # type: ignore[arg-type]
    Context.params = {"url": "http://127.0.0.1:1"}
    assert complete_connector(Context(), "or") == []  # type: ignore[arg-type]
