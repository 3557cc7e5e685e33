"""Settings of type PASSWORD in a configuration, by what its plugins define."""

from __future__ import annotations

from penstock.api.config import ConfigDef, ConfigType
from penstock.core.config.catalog import Catalog, Kind, PluginClass
from penstock.plugins.passwords import password_settings

ASKED: list[str] = []


def plugin(name: str, kind: Kind) -> PluginClass:
    def defined() -> ConfigDef:
        ASKED.append(name)
        if name == "com.Broken":
            raise RuntimeError("no settings")
        return ConfigDef().define("licence", ConfigType.PASSWORD, None).define("where", ConfigType.STRING, None)

    return PluginClass(name, (kind,), "1", defined)


CATALOG = Catalog(
    [
        plugin("com.Source", Kind.SOURCE),
        plugin("com.Broken", Kind.SOURCE),
        plugin("com.Wrap", Kind.TRANSFORMATION),
        plugin("com.Text", Kind.CONVERTER),
    ]
)
CONFIG = {
    "connector.class": "com.Source",
    "licence": "1",
    "where": "2",
    "transforms": "a, b",
    "transforms.a.type": "com.Wrap",
    "transforms.a.licence": "3",
    "transforms.a.where": "4",
    "transforms.b.type": "com.Unknown",
    "transforms.b.licence": "5",
    "value.converter": "com.Text",
    "value.converter.licence": "6",
    "key.converter.licence": "7",
}


def test_passwords_of_connector_transforms_and_converters_are_found() -> None:
    found = {"licence", "transforms.a.licence", "value.converter.licence"}
    assert password_settings(CATALOG, CONFIG) == found
    ASKED.clear()
    assert password_settings(CATALOG, CONFIG) == found
    assert ASKED == []


def test_a_plugin_that_is_not_allowed_is_not_asked() -> None:
    allowed = {"connector.class": "com.Source", "licence": "1"}
    assert password_settings(CATALOG, allowed, lambda name: name != "com.Source") == frozenset()


def test_a_plugin_without_an_answer_has_none() -> None:
    assert password_settings(CATALOG, {"connector.class": "com.Broken", "licence": "1"}) == frozenset()
