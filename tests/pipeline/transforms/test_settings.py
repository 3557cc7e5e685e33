"""The settings of every transform and predicate, as Java Connect 4.3.1 lists them (``ValueToKey``: 4.4.0).

Documentation is our own.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.api.errors import ConfigError
from penstock.pipeline import transforms
from penstock.pipeline.transforms import predicates

GOLDEN = json.loads((Path(__file__).parent / "golden" / "settings.json").read_text())
CLASSES = {
    plugin.java_name: plugin
    for module in (transforms, predicates)
    for plugin in (getattr(module, name) for name in module.__all__)
}


@pytest.mark.parametrize("name", GOLDEN)
def test_settings_are_those_of_java(name):
    ours = {info.name: info.to_json() for info in CLASSES[name].config_def().infos()}
    assert all(info.pop("documentation") for info in ours.values())
    assert ours == {setting["name"]: setting for setting in GOLDEN[name]}


def test_one_plugin_is_our_own():
    assert set(CLASSES) - set(GOLDEN) == {"penstock.transforms.PythonFunction"}


@pytest.mark.parametrize(
    ("plugin", "config", "errors"),
    [
        (transforms.ValueToKey, {"fields": "a,a"}, ["Configuration 'fields' values must not be duplicated."]),
        (
            transforms.CastValue,
            {"spec": "a:b:c"},
            ["Invalid value [a:b:c] for configuration renames: Invalid rename mapping: a:b:c"],
        ),
        (
            transforms.HeaderFromKey,
            {"fields": "a", "headers": "b", "operation": "MOVE"},
            ["Invalid value MOVE for configuration operation: String must be one of: move, copy"],
        ),
        (
            transforms.RegexRouter,
            {"regex": "(a", "replacement": "b"},
            ["Invalid value (a for configuration regex: Invalid regex: Unclosed group near index 2\n(a"],
        ),
        (
            predicates.TopicNameMatches,
            {"pattern": ""},
            ["Invalid value  for configuration pattern: String must be non-empty"],
        ),
    ],
)
def test_validation_tells_what_is_wrong(plugin, config, errors):
    found = plugin.config_def().validate_all(config)
    assert [error for value in found.values() for error in value.errors] == errors
    with_errors = [name for name, value in found.items() if value.errors]
    assert len(with_errors) == 1


def test_a_setting_without_a_default_is_required():
    with pytest.raises(ConfigError, match='Missing required configuration "field" which'):
        transforms.HoistFieldValue().configure({})


@pytest.mark.parametrize(
    ("transform", "config", "message"),
    [
        (transforms.InsertFieldValue, {}, "No field insertion configured"),
        (
            transforms.InsertFieldValue,
            {"static.field": "s"},
            "Invalid value null for configuration static.value: No value specified for static field: s",
        ),
        (transforms.SetSchemaMetadataKey, {}, "Neither schema name nor version configured"),
        (transforms.CastValue, {"spec": ""}, "Must specify at least one field to cast."),
        (
            transforms.TimestampConverterKey,
            {"target.type": "string"},
            "TimestampConverter requires format option to be specified when using string timestamps",
        ),
        (
            transforms.HeaderFromKey,
            {"fields": "a", "headers": "b,c", "operation": "move"},
            "'fields' config must have the same number of elements as 'headers' config.",
        ),
    ],
)
def test_settings_that_do_not_work(transform, config, message):
    with pytest.raises(ConfigError) as caught:
        transform().configure(config)
    assert str(caught.value) == message
