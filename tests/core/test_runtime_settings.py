"""A setting of the runtime is described once: all that shows or checks it follows from its entry in the table."""

from __future__ import annotations

import pytest

from penstock.api.config import ConfigType, Importance
from penstock.api.validators import ValidString
from penstock.commands._reference import SettingReference
from penstock.core.config import runtime_settings
from penstock.core.config.catalog import CONNECTORS, Kind
from penstock.core.config.infos import ConfigInfos
from penstock.core.config.runtime_settings import RUNTIME_SETTINGS
from penstock.core.config.secrets import MASK, masked, restored
from penstock.core.config.setting import RuntimeSetting
from penstock.core.config.validation import WorkerRules
from penstock.plugins import Plugins
from penstock.settings.definitions import distributed_config, standalone_config

SOURCE = {"name": "n", "connector.class": "FileStreamSource", "topic": "t", "file": "/tmp/f"}
SINK = {"name": "n", "connector.class": "FileStreamSink", "topics": "t", "file": "/tmp/f"}
NAME = "penstock.colour"
NEW = RuntimeSetting(
    name=NAME,
    type=ConfigType.STRING,
    default="red",
    validator=ValidString("red", "green"),
    importance=Importance.LOW,
    documentation="Colour of the connector.",
    group="Common",
    order=30,
    kinds=(Kind.SOURCE,),
    optional=True,
    worker_documentation="Colour of connectors that have none of their own.",
    literal="; it is red or green",
    without_effect=lambda props, context: "It is red anyway" if props[NAME] == "red" else None,
    secret=True,
)


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> Plugins:
    """Plugins, with one more entry in the table."""
    monkeypatch.setattr(runtime_settings, "RUNTIME_SETTINGS", (*RUNTIME_SETTINGS, NEW))
    return Plugins.discover()


def names(infos: ConfigInfos) -> list[str]:
    return [info.definition.name for info in infos.configs if info.definition is not None]


def test_validation_defines_and_checks_it(plugins: Plugins) -> None:
    given = plugins.validate({**SOURCE, NAME: "blue"}, WorkerRules())
    assert given.errors == [f"Invalid value blue for configuration {NAME}: String must be one of: red, green"]
    (shown,) = [info.definition for info in given.configs if info.definition and info.definition.name == NAME]
    assert (shown.type, shown.default_value, shown.importance) == ("STRING", "red", "LOW")
    assert shown.documentation == "Colour of the connector."


def test_an_optional_setting_is_defined_only_for_its_kind_and_where_it_is_given(plugins: Plugins) -> None:
    assert NAME not in names(plugins.validate(SOURCE, WorkerRules()))
    assert NAME in names(plugins.validate({**SOURCE, NAME: "green"}, WorkerRules()))
    sink = plugins.validate({**SINK, NAME: "green"}, WorkerRules())
    assert NAME not in names(sink)
    assert sink.warnings == (f"'{NAME}' is no setting of this connector and has no effect",)


def test_a_reference_to_a_config_provider_is_refused(plugins: Plugins) -> None:
    given = plugins.validate({**SOURCE, NAME: "${env:COLOUR}"}, WorkerRules())
    assert given.errors[1:] == [
        f"'{NAME}' can't be a reference to a config provider (${{env:COLOUR}}); it is red or green"
    ]


def test_warnings_propose_it_and_say_that_it_has_no_effect(plugins: Plugins) -> None:
    assert plugins.validate({**SOURCE, "penstock.color": "red"}, WorkerRules()).warnings == (
        f"'penstock.color' is no setting of this connector and has no effect. Did you mean '{NAME}'?",
    )
    assert plugins.validate({**SOURCE, NAME: "red"}, WorkerRules()).warnings == ("It is red anyway",)


def test_a_secret_setting_is_masked_and_restored(plugins: Plugins) -> None:
    assert masked({NAME: "green", "topic": "t"}) == {NAME: MASK, "topic": "t"}
    assert restored({NAME: MASK}, {NAME: "green"}) == {NAME: "green"}


def test_the_worker_has_the_setting_of_the_same_name(plugins: Plugins) -> None:
    for config in (distributed_config(), standalone_config()):
        assert config.keys[NAME].documentation == "Colour of connectors that have none of their own."


def test_the_reference_and_help_describe_it(plugins: Plugins) -> None:
    found = SettingReference(plugins.catalog).settings(NAME)
    assert {owner.name for owner, _ in found} == {"a worker", "a source connector"}
    assert "Colour of the connector." in {key.documentation for _, key in found}
    assert NAME in SettingReference(plugins.catalog).close("penstock.color")


def test_readers_get_the_default_of_the_entry(plugins: Plugins) -> None:
    assert runtime_settings.value_of({}, NAME) == "red"
    assert runtime_settings.value_of({NAME: "green"}, NAME) == "green"
    defaults = [runtime_settings.value_of({}, name) for name in ("tasks.max", "errors.log.enable", "errors.tolerance")]
    assert defaults == ["1", "false", "none"]


def test_without_the_entry_nothing_knows_it() -> None:
    plugins = Plugins.discover()
    assert masked({NAME: "green"}) == {NAME: "green"}
    assert NAME not in distributed_config().keys
    assert not SettingReference(plugins.catalog).settings(NAME)
    assert NAME not in names(plugins.validate({**SOURCE, NAME: "green"}, WorkerRules()))


def test_each_setting_is_described_once() -> None:
    for kind in CONNECTORS:
        found = [setting.name for setting in RUNTIME_SETTINGS if kind in setting.kinds]
        assert len(found) == len(set(found))
    assert all(setting.documentation for setting in RUNTIME_SETTINGS)
    optional = {setting.name for setting in RUNTIME_SETTINGS if setting.optional or not setting.defined}
    own = {setting.name for setting in RUNTIME_SETTINGS if setting.name.startswith("penstock.")}
    assert own == optional - {"topic.creation"}
