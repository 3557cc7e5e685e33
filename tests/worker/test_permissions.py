"""Permissions in a worker's settings are checked before a configuration's classes are imported, and at each start."""

from __future__ import annotations

import re
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import pytest

from penstock.api.errors import ConfigError, ConnectError
from penstock.api.query import QuerySinkConnector
from penstock.core.config.overrides import NONE, PRODUCER
from penstock.core.config.permissions.clients import check_clients
from penstock.core.config.validation import WorkerRules
from penstock.core.model.actions import StartTask
from penstock.core.model.messages import Refused
from penstock.core.model.tasks import TaskId
from penstock.java.regex import compile_regex
from penstock.plugins import Plugins
from penstock.settings import WorkerSettings
from penstock.worker.configuration.permissions import WorkerPermissions
from penstock.worker.configuration.topics import KnownConnectors
from penstock.worker.specs import Specs

WORKER = {
    "bootstrap.servers": "h:1",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    "offset.storage.file.filename": "/tmp/offsets",
}
CONNECTOR = {"connector.class": "FileStreamSource", "name": "n", "file": "/tmp/x", "topic": "t"}
TRANSFORM = {"transforms": "t", "transforms.t.type": "penstock.transforms.PythonFunction"}


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


def validated(config: dict[str, str], **settings: str) -> dict[str, list[str]]:
    """Return the errors of a connector's configuration on a worker with these settings."""
    worker = WorkerSettings.standalone_of(WORKER | {key.replace("__", "."): text for key, text in settings.items()})
    plugins = Plugins.discover(worker.plugin_path)
    permissions = WorkerPermissions.of(worker, plugins)
    rules = WorkerRules(compile=compile_regex, forbidden=permissions.problems, converters=worker.converters)
    found = plugins.validate(config, rules).to_json()["configs"]
    return {each["value"]["name"]: each["value"]["errors"] for each in found if each["value"]["errors"]}


def function(name: str) -> dict[str, str]:
    return CONNECTOR | TRANSFORM | {"transforms.t.function": name}


def test_nothing_is_imported_that_is_not_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    ran = tmp_path / "ran"
    (tmp_path / "penstock_test_trap.py").write_text(f"open({str(ran)!r}, 'w')\ndef f(r): return r\n")
    refused = validated(function("penstock_test_trap:f"))
    wanted = "is not among the functions that `penstock.functions.allowed` of the worker allows"
    assert list(refused) == ["transforms.t.function"]
    assert refused["transforms.t.function"] == [f"transforms.t.function: penstock_test_trap:f {wanted}"]
    assert not ran.exists()
    assert validated(function("penstock_test_trap:f"), penstock__functions__allowed="penstock_test_trap.f") == {}
    assert ran.exists()


def test_by_default_functions_of_plugins_are_allowed(tmp_path: Path) -> None:
    (tmp_path / "penstock_test_shop.py").write_text("import subprocess\nfrom os import system\ndef f(r): return r\n")
    (tmp_path / "json.py").write_text("")  # named like a module of the standard library
    folder = {"plugin__path": str(tmp_path)}
    assert validated(function("penstock_test_shop:f"), **folder) == {}
    for name in ("penstock_test_shop:system", "penstock_test_shop:subprocess.call", "json:loads", "os:system"):
        assert list(validated(function(name), **folder)) == ["transforms.t.function"], name
    assert list(validated(function("penstock_test_shop:f"), **folder, penstock__functions__allowed="")) == [
        "transforms.t.function"
    ]


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"penstock__plugins__denied": "*.FileStream*"}, "connector.class"),
        ({"penstock__plugins__allowed": "org.apache.kafka.connect.storage.*"}, "connector.class"),
        ({"penstock__paths__allowed": "/srv/data"}, "file"),
    ],
)
def test_settings_have_their_effect(settings: dict[str, str], key: str) -> None:
    assert validated(CONNECTOR) == {}
    assert list(validated(CONNECTOR, **settings)) == [key]


def test_a_denied_class_is_not_touched(tmp_path: Path) -> None:
    """Validation, creation and a request for its definitions neither instantiate the class nor read its settings."""
    touched = tmp_path / "touched"
    (tmp_path / "penstock_test_denied.py").write_text(
        "from penstock.api import ConfigDef, SourceConnector\n"
        "class Denied(SourceConnector):\n"
        f"    def __init__(self): open({str(touched)!r}, 'w')\n"
        "    @classmethod\n"
        f"    def config_def(cls): open({str(touched)!r}, 'w'); return ConfigDef()\n"
        "    def task_class(self): return None\n"
        "    def task_configs(self, most): return []\n"
    )
    config = {"connector.class": "penstock_test_denied.Denied", "name": "n"}
    found = validated(config, plugin__path=str(tmp_path), penstock__plugins__denied="*.Denied")
    denied = "is denied by `penstock.plugins.denied` of the worker"
    assert found == {"connector.class": [f"connector.class: penstock_test_denied.Denied {denied}"]}
    settings = {"plugin.path": str(tmp_path), "penstock.plugins.denied": "*.Denied"}
    worker = WorkerSettings.standalone_of(WORKER | settings)
    plugins = Plugins.discover(worker.plugin_path)
    permissions = WorkerPermissions.of(worker, plugins)
    for name in ("penstock_test_denied.Denied", "Denied"):
        with pytest.raises(Refused, match=denied.replace(".", r"\.")) as refused:
            permissions.check_plugin(plugins.catalog, name)
        assert refused.value.status == 403
    with pytest.raises(ConfigError, match=denied.replace(".", r"\.")):
        permissions.check_class(plugins.catalog, config)
    assert not touched.exists()
    assert "connector.class" not in validated(config, plugin__path=str(tmp_path))
    assert touched.exists()


@pytest.mark.parametrize(
    ("config", "refused"),
    [
        ({"producer.override.acks": "1"}, True),
        ({"admin.override.acks": "1"}, False),
        ({"consumer.override.acks": "1"}, False),
        ({"admin.override.acks": "1", "offsets.storage.topic": "own"}, False),  # the topic is for distributed mode
        ({"admin.override.acks": "1", "topic.creation.groups": "g"}, True),
        ({"producer.override.acks": "1", "connector.class": "FileStreamSink"}, False),
        ({"consumer.override.acks": "1", "connector.class": "FileStreamSink"}, True),
        ({"admin.override.acks": "1", "connector.class": "FileStreamSink"}, False),
        (
            {
                "admin.override.acks": "1",
                "connector.class": "FileStreamSink",
                "errors.deadletterqueue.topic.name": "dead",
            },
            True,
        ),
        ({"producer.override.acks": "1", "connector.class": "SparkSink"}, True),
    ],
)
def test_overrides_of_the_clients_that_a_connector_has_are_refused(config: dict[str, str], refused: bool) -> None:
    worker = WorkerSettings.standalone_of(WORKER | {"connector.client.config.override.policy": "None"})
    plugins = Plugins.discover(())
    permissions = WorkerPermissions.of(worker, plugins)
    expected = pytest.raises(ConnectError, match=r"^Client Config Overrides not allowed \[\[acks,1,\[\],\[The 'None' ")
    with expected if refused else nullcontext():
        permissions.check_overrides(plugins.catalog, CONNECTOR | config)


def test_a_password_among_refused_overrides_is_hidden() -> None:
    secret = {"producer.override.sasl.jaas.config": "secret", "producer.override.a": "b"}
    with pytest.raises(ConnectError, match=r"\[sasl.jaas.config,\[hidden\],") as caught:
        check_clients(NONE, secret, [PRODUCER], source=True)
    assert "[a,b,[]," in str(caught.value)
    assert "secret" not in str(caught.value)


def test_tasks_do_not_start_with_what_is_not_allowed() -> None:
    """The config topic may have configurations that another worker, or none, has validated."""
    worker = WorkerSettings.standalone_of(WORKER | {"penstock.plugins.denied": "*.FileStream*"})
    plugins, nothing = Plugins.discover(()), None
    permissions = WorkerPermissions.of(worker, plugins)
    unused: Any = nothing
    specs = Specs(unused, plugins, dict, permissions.check, unused)
    start = StartTask(TaskId("n", 0), 1, CONNECTOR, CONNECTOR, False, ())
    with pytest.raises(ConfigError, match=r"connector\.class: .* is denied by `penstock\.plugins\.denied`"):
        specs.outline(start)


@pytest.mark.parametrize(("given", "judged"), [(" SELECT 1;; ", ["SELECT 1"]), ("  ", []), (";", []), ("", [])])
def test_sql_is_judged_as_tasks_take_it(given: str, judged: list[str]) -> None:
    found: list[str] = []
    permissions = WorkerPermissions.of(
        WorkerSettings.standalone_of(WORKER), plugins := Plugins(), judge_sql=lambda sql, *allowed: found.append(sql)
    )
    config = {"connector.class": "SparkSink", "name": "n", "topics": "t", "path": "/tmp/x", "sql": given}
    assert (permissions.problems(plugins.catalog, config), found) == ([], judged)


def test_tasks_do_not_start_with_options_of_java_that_run_programs() -> None:
    """A config provider's value may have changed since the configuration was validated."""
    worker = WorkerSettings.standalone_of(WORKER)
    plugins, unused = Plugins.discover(()), cast(Any, None)
    config = CONNECTOR | {"penstock.java.opts": "-XX:OnOutOfMemoryError=/tmp/x"}
    specs = Specs(unused, plugins, dict, WorkerPermissions.of(worker, plugins).check, unused)
    with pytest.raises(ConfigError, match="OnOutOfMemoryError=/tmp/x is not about memory"):
        specs.outline(StartTask(TaskId("n", 0), 1, CONNECTOR, config, False, ()))


def test_tasks_do_not_start_with_configurations_of_their_own_that_are_not_allowed(tmp_path: Path) -> None:
    """Task configurations in the config topic need not be those that the connector has made."""
    worker = WorkerSettings.standalone_of(WORKER | {"penstock.paths.allowed": str(tmp_path)})
    plugins, unused = Plugins.discover(()), cast(Any, None)
    connector = CONNECTOR | {"file": str(tmp_path / "in")}
    specs = Specs(unused, plugins, dict, WorkerPermissions.of(worker, plugins).check, unused)
    with pytest.raises(ConfigError, match=r"file: /etc/passwd is not in the folders of `penstock\.paths\.allowed`"):
        specs.outline(StartTask(TaskId("n", 0), 1, {"file": "/etc/passwd"}, connector, False, ()))


@pytest.mark.security
def test_databases_and_properties_of_jdbc_are_the_operators() -> None:
    config = {"name": "n", "connector.class": "JdbcSink", "topics": "t", "connection.url": "jdbc:exotic://h/db?level=3"}
    (said,) = validated(config)["connection.url"]
    assert "databases of kind exotic are not among those that `penstock.jdbc.databases.allowed` allows" in said
    databases = {"penstock__jdbc__databases__allowed": "mysql, exotic"}
    (said,) = validated(config, **databases)["connection.url"]
    assert "`penstock.jdbc.properties.allowed`" in said
    assert "connection.url" not in validated(config, **databases, penstock__jdbc__properties__allowed="exotic:level")
    postgresql = config | {"connection.url": "jdbc:postgresql://h/db"}
    assert "connection.url" in validated(postgresql, **databases)
    assert "connection.url" not in validated(postgresql)


@pytest.mark.security
def test_paths_and_options_of_queries_are_those_of_the_workers_settings(tmp_path: Path) -> None:
    """Every configuration gets an answer, whatever it contains: no path is an error of the worker."""
    settings = {"penstock.paths.allowed": str(tmp_path), "penstock.spark.options.allowed": "csv.badRecordsPath, x.*"}
    plugins = Plugins.discover(())
    permissions = WorkerPermissions.of(WorkerSettings.standalone_of(WORKER | settings), plugins)
    sink = {"connector.class": "SparkSink", "format": "csv", "path": f"{tmp_path}/a"}
    assert permissions.problems(plugins.catalog, sink) == []
    assert permissions.problems(plugins.catalog, sink | {"option.badRecordsPath": f"{tmp_path}/b"}) == []
    for key, value in (
        ("path", "/etc"),
        ("path", f"{tmp_path}/\\.\\./etc"),
        ("path", f"{tmp_path}/\0/../etc"),
        ("path", f"{tmp_path}/\ud800"),
        ("path", f"{tmp_path}/{'a' * 100_000}"),
        ("path", "%" * 5_000),
        ("path", "[" * 1_000),
        ("option.badRecordsPath", "/etc"),
        ("option.fs.viewfs.mounttable.x.link./a", "file:///etc"),
        ("option.rowValidationXSDPath", f"{tmp_path}/x.xsd"),
        ("option.compression", "com.example.Codec"),
    ):
        found = dict(permissions.problems(plugins.catalog, sink | {key: value}))
        assert set(found) == {key}, value[:50]
        assert len(found[key]) < 5_000
        with pytest.raises(ConfigError, match=re.escape(key)):
            permissions.check(plugins.catalog, sink | {key: value})


@pytest.mark.parametrize(
    ("own", "other", "refused"),
    [
        ("SparkSink", "SparkSink", True),
        ("SparkSink", "FileStreamSink", True),
        ("FileStreamSink", "SparkSink", True),
        ("FileStreamSink", "FileStreamSink", False),
    ],
)
def test_a_query_shares_its_group_with_no_other_sink(own: str, other: str, refused: bool) -> None:
    """Ordinary sinks may share a group, as in Java. Checked at validation and when tasks start."""
    worker = WorkerSettings.standalone_of(WORKER)
    plugins = Plugins.discover(worker.plugin_path)
    key = "consumer.override.group.id"

    def problems(name: str, first: dict[str, str], second: dict[str, str]) -> list[tuple[str, str]]:
        """Return the problems of the second configuration under this name, while ``other`` has the first."""
        known = KnownConnectors(
            configs=lambda: [("other", {"connector.class": other, "topics": "t"} | first, 1)],
            is_source=lambda config: plugins.kind(config) == "source",
            is_query_sink=lambda config: issubclass(plugins.connector(config), QuerySinkConnector),
        )
        permissions = WorkerPermissions.of(worker, plugins, known)
        config = {"connector.class": own, "name": name, "topics": "t"} | second
        found = permissions.problems(plugins.catalog, config)
        if found:
            with pytest.raises(ConnectError, match="is that of connector other"):
                permissions.check(plugins.catalog, config)
        else:
            permissions.check(plugins.catalog, config)
        return found

    shared = {key: "shared"}
    assert [name for name, _ in problems("n", shared, shared)] == [key] * refused
    assert [name for name, _ in problems("n", {}, {key: "connect-other"})] == [key] * refused
    assert [name for name, _ in problems("n", {key: "connect-n"}, {})] == ["name"] * refused
    for first, second in (({}, {}), (shared, {}), ({}, shared), (shared, {key: "another"})):
        assert problems("n", first, second) == []
    assert problems("other", shared, shared) == [], "its own configuration is no other connector's"
    assert problems("n", shared, shared | {"consumer.override.bootstrap.servers": "elsewhere:1"}) == []
