"""``penstock help``: every setting is known and documented."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from penstock.commands._meaning import description, note
from penstock.commands._reference import SettingReference
from penstock.commands.help import WIDTH, _definition
from penstock.core.config.catalog import Kind, PluginClass
from penstock.core.config.runtime_settings import optional_settings
from penstock.pipeline.converters.json_converter import JsonConverter
from penstock.plugins import Plugins


@pytest.fixture(scope="module")
def reference() -> SettingReference:
    return SettingReference(Plugins.discover().catalog)


def test_no_setting_is_without_documentation(reference: SettingReference) -> None:
    settings = [(owner.name, key) for owner in reference.owners for key in owner.settings.values()]
    assert len(settings) > 800
    assert [(owner, key.name) for owner, key in settings if not key.documentation.strip()] == []


def test_a_setting_of_clients_has_documentation_of_its_own(reference: SettingReference) -> None:
    """Texts may not refer to Kafka's, nor be one text for several settings with their names filled in."""
    for owner in reference.owners:
        texts = {name: key.documentation for name, key in owner.settings.items()}
        assert [name for name, text in texts.items() if "see Kafka's" in text] == []
        if owner.name.endswith("of a connector") or ".mirror." in owner.name:
            bare = [text.replace(name, "") for name, text in texts.items()]
            assert [name for name, text in texts.items() if bare.count(text.replace(name, "")) > 1] == []


def test_no_plugin_of_ours_is_without_a_description(reference: SettingReference) -> None:
    plugins = {owner.plugin.java_name: owner.plugin for owner in reference.owners if owner.plugin is not None}
    assert len(plugins) > 55
    described = {name: description(plugin) for name, plugin in plugins.items()}
    assert [name for name, text in described.items() if not re.fullmatch(r".{9,}(\.|\.\.\.)", text)] == []
    ambiguous = [text for text in described.values() if list(described.values()).count(text) > 1]
    assert ambiguous == []


def test_a_class_without_a_docstring_does_not_get_that_of_its_base() -> None:
    class Mine(JsonConverter):
        pass

    assert description(PluginClass("Mine", (Kind.CONVERTER,), "1", Mine.config_def, Mine)) == ""


def test_settings_defined_only_where_they_are_given_are_known(reference: SettingReference) -> None:
    names = {*optional_settings(Kind.SOURCE), *optional_settings(Kind.SINK)}
    assert [name for name in sorted(names) if not reference.settings(name)] == []


def test_every_setting_is_found_by_the_name_it_has_in_a_configuration(reference: SettingReference) -> None:
    for owner in reference.owners:
        for name, key in owner.settings.items():
            assert (owner, key) in reference.settings(owner.prefix.replace("<alias>", "mine") + name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("errors.tolerance", "a setting of every connector"),
        ("penstock.restart.max", "a setting of every connector"),
        ("offset.flush.interval.ms", "a setting of a worker"),
        ("value.converter.schemas.enable", "a setting of org.apache.kafka.connect.json.JsonConverter"),
        ("transforms.one.negate", "a setting of every transform"),
        ("consumer.override.max.poll.records", "a setting of the consumer of a connector"),
        ("topic.creation.big.partitions", "a setting of a topic creation group of a source connector"),
        (
            "producer.linger.ms",
            "a setting of the producer of a connector, in a worker's properties or a mirror connector's\n"
            "  configuration",
        ),
        (
            "linger.ms",
            "a setting of the producer of a connector, with the prefix producer.override.; the producer of a\n"
            "  connector, with the prefix producer., in a worker's properties or a mirror connector's\n"
            "  configuration",
        ),
    ],
)
def test_a_setting(penstock: Any, name: str, expected: str) -> None:
    said = penstock("help", name)
    assert said.exit_code == 0
    assert said.stdout.startswith(f"{name}\n  {expected}\n")


FAMILIES = {
    "producer.linger.ms": "linger.ms",
    "consumer.max.poll.records": "max.poll.records",
    "admin.request.timeout.ms": "request.timeout.ms",
    "producer.override.linger.ms": "linger.ms",
    "admin.override.request.timeout.ms": "request.timeout.ms",
    "spark.master": "spark.master",
    "spark.cores.max": "spark.cores.max",
    "spark.executor.memory": "spark.<setting>",
    "penstock.query.spark.executor.memory": "penstock.query.spark.<setting>",
    "penstock.labels.team": "penstock.labels.<label>",
    "transforms.a.type": "type",
    "transforms.a.plugin.version": "plugin.version",
    "transforms.a.predicate": "predicate",
    "predicates.p.type": "type",
    "config.providers.file.param.allowed.paths": "allowed.paths",
    "config.providers.vault.class": "config.providers.<provider>.class",
    "config.providers.vault.param.token.file": "config.providers.<provider>.param.<parameter>",
    "listeners.https.ssl.keystore.location": "listeners.https.<setting>",
    "topic.creation": "topic.creation",
    "topic.creation.logs.regex": "regex",
    "topic.creation.default.retention.ms": "<setting>",
    "topic.creation.default.partitions": "partitions",
    "config.storage.segment.bytes": "config.storage.<setting>",
    "config.storage.topic": "config.storage.topic",
    "option.mergeSchema": "option.<option>",
    "source.cluster.bootstrap.servers": "source.cluster.<setting>",
    "source.cluster.alias": "source.cluster.alias",
    "source.consumer.fetch.max.bytes": "source.consumer.<setting>",
    "topic.filter.allow.list": "topic.filter.<setting>",
    "topic.filter.class": "topic.filter.class",
    "group.filter.owner": "group.filter.<setting>",
    "config.property.filter.x": "config.property.filter.<setting>",
    "replication.policy.prefix": "replication.policy.<setting>",
    "replication.policy.separator": "replication.policy.separator",
    "connection.ssl.mode": "connection.<property>",
    "connection.attempts": "connection.attempts",
    "metrics.context.region": "metrics.context.<label>",
    "penstock.openlineage.transport.endpoint": "penstock.openlineage.transport.<setting>",
    "penstock.openlineage.transport.url": "penstock.openlineage.transport.url",
}
"""Settings as they are in configurations, and the names of their definitions."""


@pytest.mark.parametrize(("name", "definition"), FAMILIES.items())
def test_a_setting_with_a_part_of_the_users(reference: SettingReference, name: str, definition: str) -> None:
    assert {key.name for _, key in reference.settings(name)} == {definition}


@pytest.mark.parametrize(
    "name", ["option", "option.", "config.providers.a.b.class", "spark", "penstock.labels.", "consumer.x"]
)
def test_settings_outside_families_are_unknown(reference: SettingReference, name: str) -> None:
    assert reference.settings(name) == []


@pytest.mark.parametrize("name", ["HoistField", "HoistField$Value", "org.apache.kafka.connect.transforms.HoistField"])
def test_a_plugin(penstock: Any, name: str) -> None:
    said = penstock("help", name)
    assert "org.apache.kafka.connect.transforms.HoistField$Value\n  Transformation, version" in said.stdout
    assert "\n  Wraps values into a struct, or a map where there is no schema, with one field.\n" in said.stdout
    assert (
        "  its settings begin with transforms.<alias>.\n\nfield\n  string, required, importance medium\n" in said.stdout
    )


@pytest.mark.parametrize(
    ("name", "differs"),
    [
        ("penstock.config.strict", "Not in Java Connect."),
        ("spark.executor.memory", "Not in Java Connect."),
        ("exactly.once.source.enabled", "Not in Java Connect."),
        ("topic.creation", "Not in Java Connect."),
        ("topic.creation.logs.regex", "Not in Java Connect."),
        ("singer.tap", "Not in Java Connect."),
        ("security.providers", "Refused here: security providers are Java classes."),
        ("metrics.num.samples", "Without effect here: rates are taken over half a minute."),
        ("ssl.provider", "Refused here: TLS is Python's own."),
        ("producer.override.ssl.provider", "Without effect here."),
    ],
)
def test_help_names_differences_from_java(penstock: Any, name: str, differs: str) -> None:
    assert penstock("help", name).stdout.partition("\n\n")[0].rstrip().endswith(f"\n  {differs}")
    assert json.loads(penstock("help", name, "-o", "json").stdout)[0]["differs"] == differs


def test_help_names_no_difference_where_there_is_none(penstock: Any) -> None:
    assert json.loads(penstock("help", "offset.flush.interval.ms", "-o", "json").stdout)[0]["differs"] is None


def test_help_names_differences_of_clients() -> None:
    said = {key: note("the producer of a connector", key) for key in ("batch.size", "ssl.provider", "acks")}
    assert (said["ssl.provider"], said["acks"]) == ("Without effect here.", "")
    assert said["batch.size"].startswith("Default here: `batch.size=")


def test_the_text_is_for_a_terminal(penstock: Any, reference: SettingReference) -> None:
    for owner in reference.owners:
        shown = "\n".join(_definition(owner, key) for key in owner.settings.values())
        assert re.findall(r"</?(?:code|p|br|ul|li|b|i|a)\b|&\w+;|valid: *$", shown, re.MULTILINE) == []
    said = penstock("help", "replace.null.with.default").stdout
    assert [line for line in said.splitlines() if len(line) > WIDTH] == []


def test_without_an_argument_it_says_what_it_explains(penstock: Any) -> None:
    said = penstock("help")
    assert said.exit_code == 0
    for example in re.findall("penstock help ([a-zJ].*)", said.stdout):
        assert penstock("help", *example.split()).exit_code == 0


def test_a_command(penstock: Any) -> None:
    assert penstock("help", "apply").stdout == penstock("apply", "--help").stdout
    assert penstock("help", "offsets", "reset").stdout == penstock("offsets", "reset", "--help").stdout
    said = penstock("help", "offsets", "reset", "-o", "json")
    assert (said.exit_code, said.stderr) == (
        1,
        "penstock: `offsets reset` is a command, whose help is only text.\n",
    )


def test_a_command_that_is_a_setting_too(penstock: Any) -> None:
    said = penstock("help", "topics").stdout
    assert " topics [OPTIONS] COMMAND" in said
    assert "\ntopics\n  a setting of a sink connector" in said


def test_json(penstock: Any) -> None:
    rows: list[Mapping[str, Any]] = json.loads(penstock("help", "errors.tolerance", "-o", "json").stdout)
    assert {"of", "name", "type", "default_value", "documentation", "valid"} <= rows[0].keys()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("erors.tolerance", "Did you mean 'errors.tolerance'?"),
        ("aply", "Did you mean 'apply'?"),
        ("offsets rest", "Did you mean 'offsets reset'?"),
        ("list", "Did you mean 'lint' or 'context list' or 'dlq list' or 'plugins list'?"),
        ("apply offsets", "`penstock help` says what it explains."),
    ],
)
def test_unknown_names_get_a_suggestion(penstock: Any, name: str, hint: str) -> None:
    said = penstock("help", *name.split())
    sentence = f"penstock: There is no setting, plugin or command `{name}`. {hint}\n"
    assert (said.exit_code, said.stderr) == (1, sentence)
