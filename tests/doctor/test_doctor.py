"""The verdicts of ``penstock doctor`` on files; on a running Java cluster: ``tests/compat/test_take_over.py``."""

from __future__ import annotations

import sys

import pytest

from penstock.api.errors import ConnectError
from penstock.core.config.validation import WorkerRules
from penstock.doctor.connectors import Judge
from penstock.doctor.examination import rules_of
from penstock.doctor.findings import Section, Verdict
from penstock.doctor.topics import look
from penstock.doctor.worker import judge_worker
from penstock.java.regex import compile_regex
from penstock.plugins import Plugins

WORKS, UNCHECKED, DIFFERS, NEEDS_JAR, REFUSED = Verdict
PLUGINS = Plugins.discover()
PLAIN = {
    "bootstrap.servers": "a:1",
    "group.id": "g",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "config.storage.topic": "c",
    "offset.storage.topic": "o",
    "status.storage.topic": "s",
}
INSERT = "org.apache.kafka.connect.transforms.InsertField$Value"
ROUTER = "org.apache.kafka.connect.transforms.TimestampRouter"
SOURCE = {"connector.class": "FileStreamSource", "file": "/a", "topic": "t"}


def verdicts(section: Section, subject: str) -> list[Verdict]:
    return [each.verdict for each in section.findings if each.subject == subject]


def says(section: Section, subject: str) -> str:
    return " ".join(each.says for each in section.findings if each.subject == subject)


def of_worker(**settings: str) -> Section:
    given = {key.replace("__", "."): value for key, value in settings.items()}
    return judge_worker("worker", {**PLAIN, **given}, PLUGINS.catalog, standalone=False)


def of_connector(**settings: str) -> Section:
    given = {key.replace("__", "."): value for key, value in settings.items()}
    rules = WorkerRules(group_id="g", converters={"value.converter": PLAIN["value.converter"]}, compile=compile_regex)
    return Judge(PLUGINS, rules).connector("c", {**SOURCE, **given})


def test_a_plain_worker_works() -> None:
    section = of_worker()
    assert section.verdict is WORKS
    assert {each.subject for each in section.findings} == set(PLAIN)


@pytest.mark.parametrize(
    ("setting", "value", "verdict", "what"),
    [
        ("metric.reporters", "com.x.R", REFUSED, "GET /metrics"),
        ("rest.extension.classes", "com.x.E", REFUSED, "penstock.authorization.file"),
        ("offset.flush.interval.ms", "soon", REFUSED, "Not a number"),
        ("key.converter", "com.x.C", NEEDS_JAR, "plugin.path"),
        ("metrics.num.samples", "3", DIFFERS, "half a minute"),
        ("offset.flush.intervall.ms", "3", DIFFERS, "Did you mean 'offset.flush.interval.ms'"),
        ("penstock.restart.max", "3", DIFFERS, "no setting of a worker"),
        ("max.request.size", "5000000", WORKS, ""),
        ("offset.flush.interval.ms", "3", WORKS, ""),
        ("offset.flush.interval.ms", "${file:/x:y}", UNCHECKED, "not resolved"),
        ("producer.linger.ms", "5", WORKS, ""),
        ("producer.max.request.size", "5000", WORKS, "message.max.bytes=5000"),
        ("producer.interceptor.classes", "com.x.I", REFUSED, "Interceptors"),
        ("producer.acks", "some", REFUSED, "must be one of"),
        ("consumer.max.poll.records", "5", WORKS, ""),
        ("consumer.sasl.mechanism", "GSSAPI", WORKS, ""),
        ("consumer.made.up", "1", DIFFERS, "no such setting"),
        ("consumer.metrics.context.region", "eu", DIFFERS, "has no effect: it is for metric reporters"),
        ("metrics.context.region", "eu", DIFFERS, "has no effect: it is for metric reporters"),
        ("consumer.ssl.cipher.suites", "A", DIFFERS, "librdkafka has no setting"),
    ],
)
def test_settings_of_a_worker(setting: str, value: str, verdict: Verdict, what: str) -> None:
    section = of_worker(**{setting: value})
    assert verdict in verdicts(section, setting)
    assert what in says(section, setting)


def test_kerberos_needs_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)  # as if it were not installed
    module = "com.sun.security.auth.module.Krb5LoginModule"
    given = {
        "security.protocol": "SASL_SSL",
        "sasl.kerberos.service.name": "kafka",
        "sasl.jaas.config": f'{module} required useKeyTab=true keyTab="/k" principal="connect@EXAMPLE.COM";',
    }
    section = of_worker(**{f"producer.{key}": value for key, value in given.items()})
    assert REFUSED in verdicts(section, "producer.security.protocol")
    assert "penstock[kerberos]" in says(section, "producer.security.protocol")


@pytest.mark.parametrize("name", ["avro.AvroConverter", "protobuf.ProtobufConverter"])
def test_a_converter_whose_library_is_not_installed_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    extra = name.partition(".")[0]
    converter, library = f"io.confluent.connect.{name}", {"avro": "fastavro", "protobuf": "grpc_tools.protoc"}[extra]
    assert verdicts(of_worker(value__converter=converter), "value.converter") == [WORKS, WORKS]
    monkeypatch.setitem(sys.modules, library, None)  # as if it were not installed
    for section in (of_worker(value__converter=converter), of_connector(value__converter=converter)):
        assert REFUSED in verdicts(section, "value.converter")
        assert f"penstock[{extra}]" in says(section, "value.converter")


def test_a_connector_does_not_get_references_to_config_providers() -> None:
    """It would send them to the database as they are."""
    given = {"connector__class": "io.confluent.connect.jdbc.JdbcSourceConnector", "mode": "bulk", "topic__prefix": "t"}
    password = "${file:/secrets:password}"
    section = of_connector(**given, connection__url="jdbc:postgresql://no.such.host/d", connection__password=password)
    assert verdicts(section, "connection.password") == [UNCHECKED]
    assert UNCHECKED in verdicts(section, "connector.class")
    assert not [each for each in section.findings if each.verdict is REFUSED]


@pytest.mark.parametrize("value", ["${topic}", "${topic}-${timestamp}"])
def test_placeholders_of_a_connector_are_no_references_and_are_validated(value: str) -> None:
    router = {"transforms": "r", "transforms__r__type": ROUTER, "transforms__r__topic__format": value}
    assert of_connector(**router).verdict is WORKS
    section = of_connector(**router, batch__size="x")
    assert verdicts(section, "batch.size") == [REFUSED]
    assert UNCHECKED not in {each.verdict for each in section.findings}


def test_brokers_do_not_get_references_to_config_providers() -> None:
    with pytest.raises(ConnectError, match=r"sasl.jaas.config is a reference"):
        look({**PLAIN, "sasl.jaas.config": "${file:/secrets:jaas}"})


def test_no_secret_is_shown() -> None:
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="geheim";'
    given = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas}
    section = of_worker(**{f"producer.{key}": value for key, value in given.items()})
    assert section.verdict is WORKS
    assert "geheim" not in repr(section)


def test_missing_required_worker_settings_are_reported() -> None:
    section = judge_worker("worker", {"group.id": "g"}, PLUGINS.catalog, standalone=False)
    assert verdicts(section, "config.storage.topic") == [REFUSED]


@pytest.mark.parametrize(
    ("setting", "value", "standalone", "enabled"),
    [
        ("exactly.once.source.support", "Enabled", False, True),
        ("exactly.once.source.enabled", "true", False, True),
        ("exactly.once.source.support", "preparing", False, False),
        ("exactly.once.source.support", "enabled", True, False),
    ],
)
def test_a_connector_that_must_be_exactly_once(setting: str, value: str, standalone: bool, enabled: bool) -> None:
    rules = rules_of({**PLAIN, setting: value}, standalone)
    assert rules.exactly_once == enabled
    section = Judge(PLUGINS, rules).connector("c", {**SOURCE, "exactly.once.support": "required"})
    assert (section.verdict is WORKS) == (enabled or standalone)


def test_a_connector_that_works() -> None:
    assert of_connector().verdict is WORKS


@pytest.mark.parametrize(
    ("setting", "value", "verdict", "what"),
    [
        ("connector.class", "io.confluent.connect.s3.S3SinkConnector", NEEDS_JAR, "it runs in a JVM"),
        ("value.converter", "com.x.Converter", NEEDS_JAR, "com.x.Converter"),
        ("batch.size", "x", REFUSED, "Not a number"),
        ("tasks.max", "${env:TASKS}", UNCHECKED, "not resolved"),
        ("topik", "t", DIFFERS, "Did you mean 'topic'"),
        ("producer.override.linger.ms", "x", REFUSED, "Not a number"),
        ("penstock.restart.max", "5", DIFFERS, "'penstock.restart.policy' is, by the worker's default, never"),
        ("consumer.override.fetch.min.bytes", "5", DIFFERS, "this connector has no consumer"),
    ],
)
def test_settings_of_a_connector(setting: str, value: str, verdict: Verdict, what: str) -> None:
    section = of_connector(**{setting: value})
    assert verdict in [*verdicts(section, setting), WORKS if section.verdict is WORKS else None]
    assert what in says(section, setting)


def test_transforms_are_looked_for() -> None:
    section = of_connector(transforms="a,b", transforms__a__type="com.x.T", transforms__b__type=INSERT)
    assert verdicts(section, "transforms.a.type") == [NEEDS_JAR]
    assert verdicts(section, "transforms.b.type") == [WORKS]
