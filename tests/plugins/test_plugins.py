"""Discovery of plugins, in real folders of ``plugin.path`` and by real imports."""

from __future__ import annotations

import importlib
import logging
import os
import sys
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from penstock.api.config import ConfigDef, ConfigType, ConfigValue
from penstock.api.connector import SinkConnector
from penstock.api.errors import ConfigError
from penstock.core.config.catalog import Kind, PluginClass
from penstock.core.config.overrides import ALL
from penstock.core.config.validation import WorkerRules
from penstock.core.model.messages import Refused
from penstock.hosts.jvm.plugins.locations import java_locations
from penstock.plugins import Plugins

SOURCE = '''
from penstock.api.config import ConfigDef, Type
from penstock.api.connector import SourceConnector
from penstock.api.source import SourceTask


class {name}Connector(SourceConnector):
    """Reads nothing."""

    @classmethod
    def version(cls):
        return "1.2"

    @classmethod
    def config_def(cls):
        return ConfigDef().define("place", Type.STRING)

    def task_class(self):
        return SourceTask
'''


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for plugins; modules imported from it are removed afterwards."""
    path, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def versions(plugins: Plugins) -> dict[str, str]:
    return {each["class"]: each["version"] for each in plugins.listing()}


def test_a_module_in_the_plugin_path(folder: Path) -> None:
    (folder / "loose_plugin.py").write_text(SOURCE.format(name="Loose"))
    plugins = Plugins.discover([str(folder)])
    assert versions(plugins)["loose_plugin.LooseConnector"] == "1.2"
    config = {"connector.class": "Loose", "name": "n", "place": "p"}
    assert (plugins.kind(config), plugins.version(config)) == ("source", "1.2")
    assert plugins.connector(config).__module__ == "loose_plugin"
    assert [info.name for info in plugins.config("LooseConnector") or []][:2] == ["place", "name"]
    assert plugins.validate({**config, "place": None}, WorkerRules()).error_count == 0


def test_a_package_in_a_folder_of_its_own(folder: Path) -> None:
    package = folder / "weather-plugin" / "weather_plugin"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from .source import *\n")
    (package / "source.py").write_text(SOURCE.format(name="Weather"))
    assert "weather_plugin.source.WeatherConnector" in versions(Plugins([str(folder)]))


def test_an_installed_distribution_says_by_entry_points(folder: Path) -> None:
    target = folder / "installed"
    info = target / "tides-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tides\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[penstock.plugins]\ntides = tides_plugin:TidesConnector\n")
    (target / "tides_plugin.py").write_text(SOURCE.format(name="Tides") + SOURCE.format(name="Hidden"))
    found = versions(Plugins([str(folder)]))
    assert "tides_plugin.TidesConnector" in found
    assert "tides_plugin.HiddenConnector" not in found


def test_a_broken_plugin_does_not_hide_the_others(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "broken_plugin.py").write_text("import no_such_library\n")
    (folder / "exiting_plugin.py").write_text("raise SystemExit(3)\n")
    (folder / "good_plugin.py").write_text(SOURCE.format(name="Good"))
    (folder / "versionless_plugin.py").write_text(
        SOURCE.format(name="Odd").replace('return "1.2"', "raise RuntimeError('no version')")
    )
    with caplog.at_level(logging.ERROR):
        found = versions(Plugins([str(folder), str(folder / "missing")]))
    assert "good_plugin.GoodConnector" in found
    messages = "\n".join(record.getMessage() for record in caplog.records)
    assert "broken_plugin can't be loaded: ModuleNotFoundError: No module named 'no_such_library' (" in messages
    assert "broken_plugin.py:1)" in messages
    assert "exiting_plugin can't be loaded: SystemExit: 3 (" in messages
    assert (
        "Plugin versionless_plugin.OddConnector is left out: its version() raised RuntimeError('no version')"
        in messages
    )
    assert "missing` of plugin.path does not exist" in messages


def test_a_folder_that_can_not_be_read_does_not_hide_the_others(
    folder: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``lost+found`` of a disk that is mounted as a folder of plugins is such a folder."""
    (folder / "good_plugin.py").write_text(SOURCE.format(name="Good"))
    (folder / "lost+found").mkdir()
    (folder / "closed").mkdir()
    deny_below(monkeypatch, folder / "lost+found", folder / "closed")
    with caplog.at_level(logging.ERROR):
        assert not java_locations([str(folder), str(folder / "closed" / "plugins")])
        found = versions(Plugins([str(folder), str(folder / "closed" / "plugins")]))
    assert "good_plugin.GoodConnector" in found
    for closed in ("lost+found", "closed/plugins"):
        assert f"The folder `{folder}/{closed}` of plugin.path can't be read: Permission denied" in caplog.text


def deny_below(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    """Deny access to the files below the folders, and their listing, as the system does to users other than root."""

    def denying(call: Any, below: bool) -> Any:
        def denied(path: Any, *args: Any, **more: Any) -> Any:
            inside = [Path(path).parent, *Path(path).parent.parents] if below else [Path(path)]
            if not isinstance(path, int) and any(each in folders for each in inside):
                raise PermissionError(13, "Permission denied", str(path))
            return call(path, *args, **more)

        return denied

    monkeypatch.setattr(os, "stat", denying(os.stat, below=True))
    for name in ("scandir", "listdir"):
        monkeypatch.setattr(os, name, denying(getattr(os, name), below=False))


def test_a_jar_that_plugin_path_names_is_no_module(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "Connector.JAR").touch()
    with zipfile.ZipFile(folder / "classes.zip", "w") as archive:
        archive.writestr("a/B.class", b"")
    with caplog.at_level(logging.ERROR):
        Plugins([str(folder / "Connector.JAR"), str(folder / "classes.zip")])
    assert not caplog.records


def test_a_module_whose_name_is_taken(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "json.py").write_text(SOURCE.format(name="Json"))
    with caplog.at_level(logging.ERROR):
        Plugins([str(folder)])
    assert "another module has its name, json" in caplog.text


def test_a_name_inherited_from_a_built_in_class_is_not_its_own(folder: Path) -> None:
    (folder / "derived_plugin.py").write_text(
        "from penstock.connectors import FileStreamSourceConnector as Base\n\n\n"
        "class DerivedConnector(Base):\n    pass\n"
    )
    assert "derived_plugin.DerivedConnector" in versions(Plugins([str(folder)]))


def test_names_that_mean_nothing() -> None:
    plugins = Plugins()
    with pytest.raises(
        ConfigError, match="Failed to find any class that implements Converter and which name matches Nope"
    ):
        plugins.resolve("converter", "Nope")
    with pytest.raises(ConfigError, match="does not implement the Converter interface"):
        plugins.resolve("converter", "FileConfigProvider")
    with pytest.raises(Refused):
        plugins.connector({"connector.class": "Nope"})
    assert (plugins.kind({"connector.class": "Nope"}), plugins.kind(None), plugins.config("Nope")) == (
        "unknown",
        "unknown",
        None,
    )


def test_built_in_plugins_report_the_version_of_kafka() -> None:
    found = versions(Plugins())
    assert found["org.apache.kafka.connect.file.FileStreamSourceConnector"] == "4.3.1"


def test_override_policies(folder: Path) -> None:
    plugins = Plugins()
    assert plugins.override_policy("All", {}) is ALL
    allowlist = {"connector.client.config.override.allowlist": "acks, linger.ms"}
    judged = plugins.override_policy("Allowlist", allowlist).validate({"acks": "1", "retries": "2"})
    assert {value.name: bool(value.errors) for value in judged} == {"acks": False, "retries": True}
    with pytest.raises(ConfigError, match="There are All, None, Principal and Allowlist"):
        plugins.override_policy("Some", {})
    (folder / "policy_plugin.py").write_text(
        "from penstock.api.override_policy import ClientOverridePolicy\n\n\n"
        "class Strict(ClientOverridePolicy):\n    pass\n"
    )
    assert type(Plugins([str(folder)]).override_policy("Strict", {})).__name__ == "Strict"


def test_a_connector_that_is_not_there_is_named_as_java_does() -> None:
    plugins = Plugins()
    told = []
    for _ in range(3):
        with pytest.raises(Refused) as refused:
            plugins.validate({"connector.class": "x.Nope"}, WorkerRules())
        told.append(refused.value.message.split(" find any class")[0])
    assert told == ["Failed to", *["org.apache.kafka.connect.errors.ConnectException: Failed to"] * 2]


def test_refusals_have_references_as_they_were_given() -> None:
    """Refusals do not contain values from config providers: a user who may validate need not know them."""
    plugins, secret = Plugins(), "canary-7f3a"
    for key, shown in (("password", "{password=${file:x:y}}"), ("connector.class", "matches ${file:x:y}, ")):
        with pytest.raises(Refused) as refused:
            plugins.validate({key: secret}, WorkerRules(), {key: "${file:x:y}"})
        assert shown in refused.value.message
        assert secret not in refused.value.message


def test_names_of_missing_classes_do_not_fill_the_memory() -> None:
    plugins = Plugins()
    for name in ("x" * 2000, *(f"x.Nope{number}" for number in range(1100))):
        with pytest.raises(Refused):
            plugins.validate({"connector.class": name}, WorkerRules())
    assert len(plugins._not_found) == 1000
    assert max(map(len, plugins._not_found)) < 20


def test_the_plugins_that_the_package_declares_are_there() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    for name in project["entry-points"]["penstock.plugins"].values():
        assert importlib.import_module(name).__all__


def test_a_connector_is_validated_by_the_version_that_is_wanted() -> None:
    class Old(SinkConnector):
        def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
            return [ConfigValue("place", "old")]

    class New(SinkConnector):
        def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
            return [ConfigValue("place", "new")]

    defined = ConfigDef().define("place", ConfigType.STRING)
    found = {"1.0": Old, "2.0": New}
    plugins = Plugins().plus(
        PluginClass("x.Two", (Kind.SINK,), version, lambda: defined, cls, f"file:/{version}/")
        for version, cls in found.items()
    )
    for wanted, place in (("1.0", "old"), ("[1.0,2.0)", "old"), ("2.0", "new"), (None, "new")):
        config = {"name": "n", "connector.class": "x.Two", "topics": "t", "connector.plugin.version": wanted}
        given = {key: value for key, value in config.items() if value is not None}
        infos = plugins.validate(given, WorkerRules()).to_json()
        values = {each["value"]["name"]: each["value"]["value"] for each in infos["configs"]}
        assert values["place"] == place


def test_the_alias_of_a_connector_from_a_jar_is_not_that_of_a_native_one() -> None:
    assert Plugins().connector({"connector.class": "JdbcSinkConnector"}).__name__ == "JdbcSinkConnector"
    jar = type("FromJar", (SinkConnector,), {})
    found = PluginClass("io.debezium.connector.jdbc.JdbcSinkConnector", (Kind.SINK,), "3.6.1", ConfigDef, jar, "x.jar")
    assert Plugins(java=[found]).connector({"connector.class": "JdbcSinkConnector"}) is jar
