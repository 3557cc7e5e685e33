"""Files that describe connectors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.api.errors import ConfigError
from penstock.declarative.resources import Resource, read_resources
from penstock.declarative.variables import variables

STRIMZI = """\
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaConnector
metadata:
  name: orders
  labels:
    strimzi.io/cluster: east
    team: billing
spec:
  class: org.apache.kafka.connect.file.FileStreamSourceConnector
  tasksMax: 2
  state: paused
  autoRestart:
    enabled: true
    maxRestarts: 10
  listOffsets:
    toConfigMap: {name: orders-offsets}
  config:
    topic: orders
    file: /tmp/{{ file }}
    topic.creation.default.partitions: 3
    errors.log.enable: true
    transforms: [one, two]
---
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaConnect
metadata:
  name: east
"""
RESOURCE = "apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaConnector\n"
JIKKOU = """\
apiVersion: "kafka.jikkou.io/v1beta1"
kind: "KafkaConnector"
metadata:
  name: "orders"
  labels:
    kafka.jikkou.io/connect-cluster: "west"
spec:
  connectorClass: "FileStreamSink"
  tasksMax: 1
  config:
    topics: orders
    file: /tmp/orders
  state: "RUNNING"
"""


def read(tmp_path: Path, name: str, text: str, **values: str) -> list[Resource]:
    (tmp_path / name).write_text(text)
    return read_resources([tmp_path / name], values)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("@hunter2", "while scanning for the next token, found character '@' that cannot start any token"),
        ("*hunter2", "found undefined alias"),
        ("!hunter2", "could not determine a constructor for the tag"),
        ("hun: ter2", "mapping values are not allowed here"),
        ("{hun", "while parsing a flow mapping, expected ',' or '}', but got '<stream end>'"),
    ],
)
def test_yaml_errors_do_not_quote_the_line(tmp_path: Path, value: str, problem: str) -> None:
    file, values = tmp_path / "c.yaml", tmp_path / "values.yaml"
    file.write_text("name: c\npassword: {{ password }}\n")
    values.write_text(f"name: c\npassword: {value}")
    for read in (lambda: read_resources([file], {"password": value}), lambda: variables([], [values])):
        with pytest.raises(ConfigError, match=rf": {re.escape(problem)}, in line \d, column \d+$") as raised:
            read()
        assert "ter2" not in str(raised.value)


def test_a_resource_of_strimzi(tmp_path: Path) -> None:
    (resource,) = read(tmp_path, "orders.yaml", STRIMZI, file="orders")
    assert (resource.name, resource.cluster, resource.state) == ("orders", "east", "PAUSED")
    assert resource.wanted.config == {
        "name": "orders",
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "tasks.max": "2",
        "topic": "orders",
        "file": "/tmp/orders",
        "topic.creation.default.partitions": "3",
        "errors.log.enable": "true",
        "transforms": "one,two",
        "penstock.labels.team": "billing",
        "penstock.restart.policy": "on-failure",
        "penstock.restart.max": "10",
    }
    assert resource.warnings == (
        f"`spec.listOffsets` in {tmp_path / 'orders.yaml'} has no effect here: use `penstock offsets get orders`",
    )


@pytest.mark.parametrize(
    ("given", "policy", "most"),
    [
        ("enabled: true", "on-failure", None),
        ("enabled: false", "never", None),
        ("enabled: false, maxRestarts: 3", "never", "3"),
        ("maxRestarts: 3", None, "3"),
        ("", None, None),
    ],
)
def test_restarts_of_strimzi(tmp_path: Path, given: str, policy: str | None, most: str | None) -> None:
    """A limit of no restarts stays, so that validation warns of it."""
    text = JIKKOU.replace("spec:", f"spec:\n  autoRestart: {{{given}}}")
    (resource,) = read(tmp_path, "orders.yml", text)
    config = resource.wanted.config
    assert (config.get("penstock.restart.policy"), config.get("penstock.restart.max")) == (policy, most)


def test_a_resource_of_jikkou(tmp_path: Path) -> None:
    (resource,) = read(tmp_path, "orders.yml", JIKKOU)
    assert (resource.name, resource.cluster, resource.state) == ("orders", "west", "STARTED")
    expected = {"connector.class": "FileStreamSink", "tasks.max": "1", "topics": "orders", "file": "/tmp/orders"}
    assert resource.wanted.config == {"name": "orders", **expected}


@pytest.mark.parametrize(
    ("annotation", "ignored", "deleted"),
    [
        ('jikkou.io/ignore: "true"', True, False),
        ("jikkou.io/delete: true", False, True),
        ('jikkou.io/delete: "false"', False, False),
        ('strimzi.io/pause-reconciliation: "true"', True, False),
        ("jikkou.io/resource-location: file", False, False),
    ],
)
def test_annotations(tmp_path: Path, annotation: str, ignored: bool, deleted: bool) -> None:
    text = JIKKOU.replace("metadata:", f"metadata:\n  annotations: {{{annotation}}}")
    (resource,) = read(tmp_path, "orders.yml", text)
    assert (resource.ignored, resource.deleted) == (ignored, deleted)


def test_a_list_of_resources(tmp_path: Path) -> None:
    items = "\n".join(f"  {line}" for line in JIKKOU.splitlines())
    text = f"kind: KafkaConnectorList\napiVersion: x\nitems:\n- \n{items}\n"
    assert [each.name for each in read(tmp_path, "list.yaml", text)] == ["orders"]


def test_plain_yaml(tmp_path: Path) -> None:
    text = (
        "name: a\nconnector.class: FileStreamSource\ntasks.max: 1\nbatch.size: 2000\n---\nname: b\nconfig: {x: true}\n"
    )
    first, second = read(tmp_path, "both.yaml", text)
    assert first.wanted.config == {
        "name": "a", "connector.class": "FileStreamSource", "tasks.max": "1", "batch.size": "2000"
    }  # fmt: skip
    assert second.wanted.config == {"name": "b", "x": "true"}
    assert (first.state, first.cluster) == (None, None)


def test_a_request_in_yaml(tmp_path: Path) -> None:
    text = (
        "name: a\ninitial_state: PAUSED\ninitial_offsets:\n- {partition: {filename: f}, offset: {position: 7}}\n"
        "config:\n  connector.class: FileStreamSource\n  tasks.max: 1\n  batch.size: 2000\n  transforms: [one, two]\n"
    )
    (resource,) = read(tmp_path, "a.yaml", text)
    assert resource.wanted.config == {
        "name": "a", "connector.class": "FileStreamSource", "tasks.max": "1", "batch.size": "2000",
        "transforms": "one,two",
    }  # fmt: skip
    assert resource.wanted.initial_state == "PAUSED"
    assert resource.wanted.initial_offsets == (({"filename": "f"}, {"position": 7}),)


def test_a_folder_and_its_folders(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.json").write_text('{"name": "a", "connector.class": "X", "file": "{{where}}"}')
    (tmp_path / "b.properties").write_text("name=b\nconnector.class=X\n")
    (tmp_path / "README").write_text("none")
    found = read_resources([tmp_path], {"where": "there"})
    assert {each.name: each.wanted.config.get("file") for each in found} == {"a": "there", "b": None}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01", "2026-01-01"),
        ("22:15", "22:15"),
        ("1.50", "1.50"),
        ("1e3", "1e3"),
        (".5", ".5"),
        ("!!float 1.50", "1.50"),
        ("=", "="),
        ("12", "12"),
        ("-7", "-7"),
        ("0", "0"),
        ("1_000", "1000"),
        ("0x10", "16"),
        ("yes", "true"),
        ("~", None),
    ],
)
def test_yaml_scalars_keep_their_text(tmp_path: Path, written: str, value: str | None) -> None:
    (tmp_path / "a.yaml").write_text(f"name: a\nsetting: {written}\n")
    (resource,) = read_resources([tmp_path / "a.yaml"], {})
    assert resource.wanted.config["setting"] == value
    if value is not None:
        assert variables([], [tmp_path / "a.yaml"])["setting"] == value


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("&all [1, *all]", "found unconstructable recursive node"),
        ("[\n    " * 2000 + "]" * 2000, "it is nested too deeply"),
        ("!!binary aHVudGVyMg==", "could not determine a constructor for the tag"),
        ("!!set {hunter2}", "could not determine a constructor for the tag"),
        ("!!int hunter2", "found a value that can't be read as one of its type"),
        ("1" * 5000, "found a value that can't be read as one of its type"),
    ],
)
def test_yaml_values_that_are_no_settings_are_refused(tmp_path: Path, written: str, problem: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(f"name: a\nconfig:\n  connector.class: x\n  setting: {written}\n")
    for read in (lambda: read_resources([path], {}), lambda: variables([], [path])):
        with pytest.raises(ConfigError, match=re.escape(problem)) as raised:
            read()
        assert "hunter2" not in str(raised.value)


def test_properties_in_latin_1(tmp_path: Path) -> None:
    (tmp_path / "a.properties").write_bytes("name=a\nfile=caf\u00e9\n".encode("iso-8859-1"))
    (resource,) = read_resources([tmp_path], {})
    assert resource.wanted.config["file"] == "caf\u00e9"


def test_yaml_that_is_not_utf_8_is_not_read_as_properties(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes("name: a\nfile: caf\u00e9\n".encode("iso-8859-1"))
    with pytest.raises(ConfigError, match="is not YAML: it is not UTF-8"):
        read_resources([tmp_path], {})


@pytest.mark.parametrize("encoding", ["ascii", "iso-8859-1"])
def test_values_of_variables_in_properties(tmp_path: Path, encoding: str) -> None:
    own = "caf\u00e9" if encoding == "iso-8859-1" else "cafe"
    (tmp_path / "a.properties").write_bytes(f"name=a\nfile={own} {{{{ city }}}}\n".encode(encoding))
    (resource,) = read_resources([tmp_path], {"city": "Z\u00fcrich \u2192"})
    assert resource.wanted.config["file"] == f"{own} Z\u00fcrich \u2192"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (STRIMZI, "needs a value for `file`: give it by `--var file=VALUE` or `--var-file`"),
        (JIKKOU.replace("RUNNING", "RESTING"), "`spec.state=resting` of connector orders is unknown"),
        (JIKKOU.replace("tasksMax", "taskMax"), "`spec.taskMax` of connector orders is not supported; there are class"),
        (JIKKOU.replace('name: "orders"', ""), "does not name its connector"),
        ("name: [", "is not YAML: "),
        ("- 1", "must describe a connector"),
        (
            STRIMZI.replace("{{ file }}", "f").replace("maxRestarts", "maxRetries"),
            "`spec.autoRestart.maxRetries` of connector orders is not supported; there are enabled, maxRestarts",
        ),
        (
            f"{RESOURCE}metadata: {{name: a}}\nspec: {{autoRestart: true}}",
            "`spec.autoRestart` must be an object of names",
        ),
        (f"{RESOURCE}metadata: {{name: a}}\nspec: {{config: [a]}}", "`spec.config` must be an object of names"),
        (f"{RESOURCE}metadata: {{name: a}}\nspec: [class]", "`spec` must be an object of names"),
        (f"{RESOURCE}metadata: orders", "`metadata` must be an object of names"),
        (f"{RESOURCE}metadata: {{name: a, labels: [x]}}", "`metadata.labels` must be an object of names"),
        (f"{JIKKOU}---\n{JIKKOU}", "Connector orders is described twice, in "),
        (JIKKOU, None),
    ],
)
def test_mistakes(tmp_path: Path, text: str, complaint: str | None) -> None:
    if complaint is None:
        (tmp_path / "other.yaml").write_text(JIKKOU)
        (tmp_path / "orders.yaml").write_text(JIKKOU)
        with pytest.raises(ConfigError, match="Connector orders is described twice"):
            read_resources([tmp_path], {})
        return
    with pytest.raises(ConfigError) as error:
        read(tmp_path, "orders.yaml", text)
    assert complaint in str(error.value)


def test_variables(tmp_path: Path) -> None:
    file = tmp_path / "vars.yaml"
    file.write_text("region: eu\nport: 9092\ntls: true\n")
    assert variables(["region=us", "empty="], [file]) == {"region": "us", "port": "9092", "tls": "true", "empty": ""}
    with pytest.raises(ConfigError, match="`--var =…` is not a variable"):
        variables([" =canary"], [])
    with pytest.raises(ConfigError, match="`--var region` is not a variable"):
        variables(["region"], [])
    file.write_text("nothing: null\nseveral: [a]\nnested: {a: b}\nport: 1")
    assert variables([], [file]) == {"port": "1"}
    for text in ("- 1", "a: b\n---\nc: d"):
        file.write_text(text)
        with pytest.raises(ConfigError, match="must hold one object"):
            variables([], [file])
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        variables([], [tmp_path / "none.yaml"])
