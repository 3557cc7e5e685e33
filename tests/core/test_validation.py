"""Answers to ``PUT /connector-plugins/{plugin}/config/validate``: equal to Java 4.3.1's, and those of our own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.file_connectors import (
    CATALOG,
    JSON,
    KAFKA,
    SINK,
    SOURCE,
    WORKER,
    FileSink,
    FileSource,
    errors,
    validate,
)
from penstock.api.config import ConfigValue
from penstock.api.connector import (
    ConnectorTransactionBoundaries,
    ExactlyOnceSupport,
)
from penstock.api.errors import ConfigError
from penstock.core.config.infos import HINT
from penstock.core.config.overrides import NONE, PRINCIPAL
from penstock.core.config.validation import WorkerRules, connector_class, plugin_config, validate_connector
from penstock.core.model.messages import PluginFailed, Refused

GOLDEN = json.loads((Path(__file__).parent / "golden" / "validation.json").read_text())


@pytest.mark.parametrize(
    "case", GOLDEN["cases"], ids=lambda case: " ".join(f"{k}={v}" for k, v in case["config"].items())
)
def test_answers_equal_javas(case: dict[str, Any]) -> None:
    answer = validate(case["config"])
    assert (answer.error_count, list(answer.groups)) == (case["error_count"], case["groups"])
    values = [info.value for info in answer.configs if info.value is not None]
    assert [[v.name, v.value, list(v.errors), v.visible] for v in values] == case["values"]


@pytest.mark.parametrize("name", ["FileStreamSource", "FileStreamSink"])
def test_definitions_equal_javas(name: str) -> None:
    shown = [info.to_json()["definition"] for info in validate(SOURCE if name.endswith("Source") else SINK).configs]
    assert [{k: v for k, v in each.items() if k != "documentation"} for each in shown] == GOLDEN["definitions"][name]


def test_definitions_of_a_transform_equal_javas() -> None:
    own = {"transforms": "a", "transforms.a.type": f"{KAFKA}transforms.HoistField$Value", "transforms.a.field": "x"}
    shown = [info.to_json()["definition"] for info in validate({**SOURCE, **own}).configs]
    shown = [each for each in shown if each["name"].startswith("transforms.")]
    assert [{k: v for k, v in each.items() if k != "documentation"} for each in shown] == GOLDEN["definitions"][
        "transform"
    ]


def test_every_setting_is_documented() -> None:
    shown = [*validate(SOURCE).configs, *validate(SINK).configs]
    own = {*FileSource.config_def().keys, *FileSink.config_def().keys}
    assert [i.definition.name for i in shown if i.definition and not i.definition.documentation] == [
        i.definition.name for i in shown if i.definition and i.definition.name in own
    ]


def test_the_message_lists_all_errors() -> None:
    assert validate({"connector.class": "FileStreamSink", "name": "n"}).message == "\n".join(
        [
            "Connector configuration is invalid and contains the following 2 error(s):",
            "Must configure one of topics or topics.regex",
            "Must configure one of topics or topics.regex",
            HINT,
        ]
    )
    assert validate(SOURCE).message is None


def test_a_configuration_without_a_class_is_refused() -> None:
    with pytest.raises(Refused) as caught:
        connector_class(CATALOG, {"name": "x", "a": None})
    assert (caught.value.status, caught.value.message) == (
        400,
        "Connector config {name=x, a=null} contains no connector type",
    )


def test_a_refusal_that_shows_the_configuration_masks_secrets() -> None:
    with pytest.raises(Refused, match=r"\{name=x, connection\.password=\[hidden\]\} contains no connector type"):
        connector_class(CATALOG, {"name": "x", "connection.password": "hunter2"})


def test_an_unknown_class_is_refused() -> None:
    with pytest.raises(Refused) as caught:
        connector_class(CATALOG, {"connector.class": "NoSuchThing"})
    sink = f"{KAFKA}file.FileStreamSinkConnector"
    assert caught.value.message.startswith(
        "Failed to find any class that implements Connector and which name matches NoSuchThing, "
        "available connectors are: "
        f"{sink}, {KAFKA}file.FileStreamSourceConnector"
    )


@pytest.mark.parametrize("given", ["org.x.NewConverter", " New "])
def test_a_class_that_cannot_be_used_is_shown_as_the_value(given: str) -> None:
    answer = validate({**SOURCE, "key.converter": given})
    (shown,) = (info.value for info in answer.configs if info.value and info.value.name == "key.converter")
    assert (shown.value, shown.errors) == ("org.x.NewConverter", ("It is compiled for Java 99.",))


def test_values_are_shown_as_given() -> None:
    raw = {**SOURCE, "topic": "${file:/secrets:topic}"}
    shown = {info.value.name: info.value.value for info in validate(SOURCE, raw=raw).configs if info.value}
    assert (shown["topic"], shown["name"]) == ("${file:/secrets:topic}", "n")


class Telling(FileSource):
    """A validator whose errors repeat a part of the value."""

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        value = ConfigValue("topic", config["topic"], [config["topic"].upper()])
        value.add_error(f"No topic begins with {config['topic'][:5]}")
        value.add_error(f"{config['topic']} is no topic")
        return [value]


def test_errors_and_recommendations_show_no_part_of_the_value_of_a_config_provider() -> None:
    raw = {**SOURCE, "topic": "${file:/secrets:topic}"}
    infos = validate_connector(CATALOG, {**SOURCE, "topic": "s3cr3t-w0rd"}, Telling, WORKER, raw)
    (shown,) = (info.value for info in infos.configs if info.value and info.value.name == "topic" and info.value.errors)
    assert shown.value == "${file:/secrets:topic}"
    assert shown.recommended_values == ()
    assert shown.errors == (
        "Invalid value for configuration 'topic': the value resolved from the config provider reference failed "
        "validation",
        "${file:/secrets:topic} is no topic",
    )
    assert "s3cr" not in str(infos.to_json())


def test_a_connector_that_is_validated_gets_no_config_providers_of_its_own() -> None:
    given: dict[str, str] = {}

    class Asked(FileSource):
        def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
            given.update(config)
            return []

    own = {"config.providers": "f", "config.providers.f.class": "x.FileConfigProvider", "config.providersx": "kept"}
    validate_connector(CATALOG, {**SOURCE, **own}, Asked, WORKER)
    assert given == {**SOURCE, "config.providersx": "kept"}


# -- exactly once

REQUIRED = {**SOURCE, "exactly.once.support": "required"}


def test_required_needs_a_connector_that_supports_it() -> None:
    assert errors(REQUIRED) == [
        "The connector does not support exactly-once semantics with the provided configuration."
    ]
    assert errors({**REQUIRED, "file": "f"}) == []


def test_required_needs_a_worker_that_supports_it() -> None:
    worker = WorkerRules(group_id="g", exactly_once=False, converters=WORKER.converters)
    problem = "This worker does not have exactly-once source support enabled."
    assert errors({**REQUIRED, "file": "f"}, worker) == [problem]
    standalone = WorkerRules(converters=WORKER.converters)
    assert errors(REQUIRED, standalone) == []


def test_boundaries_need_a_connector_that_defines_them() -> None:
    assert errors({**SOURCE, "transaction.boundary": "connector"}) == [
        "The connector does not support connector-defined transaction boundaries with the given configuration. "
        "Please reconfigure it to use a different transaction boundary definition."
    ]


class Shy(FileSource):
    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport | None:
        return None

    def can_define_transaction_boundaries(self, config: Mapping[str, str]) -> ConnectorTransactionBoundaries:
        raise RuntimeError(" no idea ")


def test_exactly_once_is_refused_if_the_connector_does_not_say_that_it_supports_it() -> None:
    config = {**REQUIRED, "transaction.boundary": "connector"}
    first, second = validate_connector(CATALOG, config, Shy, WORKER).errors
    assert first.startswith(
        "The connector does not implement the API required for preflight validation of exactly-once"
    )
    assert second == "An unexpected error occurred during validation: no idea"


# -- overrides, own validation, plugins


def test_overrides_are_judged_by_policy() -> None:
    config = {**SOURCE, "producer.override.acks": "1", "producer.override.sasl.mechanism": "PLAIN"}

    def judged(policy: Any) -> list[str]:
        return errors(config, WorkerRules(group_id="g", converters=WORKER.converters, policy=policy))

    refused = "policy does not allow 'acks' to be overridden in the connector configuration."
    assert judged(PRINCIPAL) == [f"The 'Principal' {refused}"]
    assert sorted(judged(NONE)) == [
        f"The 'None' {refused}",
        "The 'None' policy does not allow 'sasl.mechanism' to be overridden in the connector configuration.",
    ]


def test_overrides_are_shown_in_the_order_of_java() -> None:
    keys = ["key.deserializer", "acks", "batch.size", "foo", "fetch.min.bytes", "group.id"]
    config = {**SOURCE, **{f"producer.override.{key}": "1" for key in keys}}
    shown = [info.value.name for info in validate(config, replace(WORKER, policy=PRINCIPAL)).configs if info.value]
    assert [name.removeprefix("producer.override.") for name in shown if "override" in name] == [
        "key.deserializer",
        "acks",
        "foo",
        "batch.size",
        "group.id",
        "fetch.min.bytes",
    ]


def test_a_connector_of_a_missing_version_gets_no_recommendations() -> None:
    config = {**SOURCE, "connector.plugin.version": "9.9", "key.converter": JSON}
    answer = validate_connector(CATALOG, config, FileSource, WORKER)
    shown = {info.value.name: info.value for info in answer.configs if info.value}
    assert shown["connector.plugin.version"].recommended_values == ("4.3.1",)
    assert shown["key.converter"].recommended_values == ()
    assert shown["key.converter.plugin.version"].recommended_values == ()


def test_overrides_must_be_of_the_types_of_the_client() -> None:
    with pytest.raises(Refused) as caught:
        errors({**SOURCE, "producer.override.batch.size": "x"})
    problem = "Invalid value x for configuration batch.size: Not a number of type INT"
    assert (caught.value.status, caught.value.message) == (400, problem)


class Picky(FileSource):
    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        values = super().validate(config)
        next(v for v in values if v.name == "file").add_error("The file and the topic must have the same name")
        return values


def test_a_connector_may_have_checks_of_its_own() -> None:
    problem = "The file and the topic must have the same name"
    assert validate_connector(CATALOG, SOURCE, Picky, WORKER).errors == [problem]


class BadRequestError(Exception):
    java_name = "org.apache.kafka.connect.runtime.rest.errors.BadRequestException"


@pytest.mark.parametrize(
    ("error", "status"), [(ValueError("no"), 500), (ConfigError("no"), 500), (BadRequestError("no"), 400)]
)
def test_exceptions_of_a_connector_are_refused_with_javas_status(error: Exception, status: int) -> None:
    class Broken(FileSource):
        def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
            raise error

    with pytest.raises(PluginFailed, match="no") as caught:
        validate_connector(CATALOG, SOURCE, Broken, WORKER)
    assert (caught.value.status, caught.value.__cause__) == (status, error)


def test_the_settings_of_a_plugin_include_the_runtimes() -> None:
    def names(plugin: str) -> list[str] | None:
        infos = plugin_config(CATALOG, plugin)
        return None if infos is None else [info.name for info in infos]

    assert (names("FileStreamSource") or [])[:4] == ["file", "topic", "batch.size", "name"]
    assert (names("FileStreamSinkConnector") or [])[-1] == "errors.deadletterqueue.context.headers.enable"
    assert names(f"{KAFKA}transforms.HoistField$Value") == ["field"]
    assert (names("JsonConverter") or [])[:2] == ["converter.type", "schemas.enable"], "a header converter, too"
    assert names("RecordIsTombstone") == []
    assert names("Nothing") is None


# -- the draft's topic creation rules


def test_the_draft_of_topic_creation_is_checked_at_once() -> None:
    draft = {"topic.creation": "r", "topic.creation.r.regex": "(", "topic.creation.r.partitions": "0"}
    first, second = errors({**SOURCE, **draft})
    assert first.startswith(
        "Invalid value ( for configuration topic.creation.r.regex: Syntax error in regular expression"
    )
    assert second.startswith(
        "Invalid value 0 for configuration topic.creation.r.partitions: Number of partitions must be"
    )


def test_the_two_spellings_of_topic_creation_do_not_mix() -> None:
    draft = {"topic.creation": "r", "topic.creation.r.regex": ".*", "topic.creation.groups": "g"}
    (problem,) = errors({**SOURCE, **draft})
    assert "'topic.creation.groups'" in problem
    assert "'topic.creation'" in problem


QUEUE = "penstock.errors.deadletterqueue."


def test_a_source_may_have_a_dead_letter_queue() -> None:
    config = {**SOURCE, f"{QUEUE}topic.name": "dead", "errors.tolerance": "all"}
    answer = validate(config)
    assert answer.error_count == 0
    shown = {info.value.name: info.value.value for info in answer.configs if info.value is not None}
    assert shown[f"{QUEUE}topic.replication.factor"] == "3"
    assert not any(name.startswith("penstock.") for name in (v.value.name for v in validate(SOURCE).configs if v.value))


@pytest.mark.parametrize(
    ("config", "name", "problem"),
    [
        (
            {**SOURCE, f"{QUEUE}topic.name": "dead"},
            f"{QUEUE}topic.name",
            f"'{QUEUE}topic.name' needs 'errors.tolerance=all': otherwise the first record that fails ends the task, "
            "and comes again",
        ),
        (
            {**SINK, f"{QUEUE}topic.name": "dead"},
            f"{QUEUE}topic.name",
            f"'{QUEUE}topic.name' is for source connectors; for sinks it is 'errors.deadletterqueue.topic.name'",
        ),
        (
            {**SOURCE, f"{QUEUE}topic": "dead"},
            f"{QUEUE}topic",
            f"There is no setting '{QUEUE}topic'; there are '{QUEUE}topic.name', '{QUEUE}topic.replication.factor' "
            f"and '{QUEUE}context.headers.enable'",
        ),
        (
            {
                **SOURCE,
                f"{QUEUE}topic.name": "dead",
                "errors.tolerance": "all",
                f"{QUEUE}topic.replication.factor": "x",
            },
            f"{QUEUE}topic.replication.factor",
            f"Invalid value x for configuration {QUEUE}topic.replication.factor: Not a number of type SHORT",
        ),
    ],
)
def test_mistakes_in_the_queue_of_a_source_are_refused(config: dict[str, str | None], name: str, problem: str) -> None:
    found = {i.value.name: i.value.errors for i in validate(config).configs if i.value and i.value.errors}
    assert found == {name: (problem,)}


@pytest.mark.parametrize("options", ["-Xmx1g -Xms64m", "-XX:MaxRAMPercentage=50.0 -XX:+UseZGC", ""])
def test_a_connector_may_set_the_memory_of_its_jvm(options: str) -> None:
    assert validate({**SOURCE, "penstock.java.opts": options}).error_count == 0


@pytest.mark.parametrize("option", ["-XX:OnOutOfMemoryError=reboot", "-javaagent:/tmp/a.jar", "-Dx=y", "@/etc/passwd"])
def test_a_connector_may_not_set_other_options_of_its_jvm(option: str) -> None:
    (error,) = validate({**SOURCE, "penstock.java.opts": f"-Xmx1g {option}"}).errors
    assert f"{option} is not about memory" in error
