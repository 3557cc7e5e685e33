"""Settings of Kafka's clients that a connector may not set."""

from __future__ import annotations

import ctypes
import re
import tempfile
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

from penstock.core.config.overrides import NONE
from penstock.core.config.permissions.rules import Permissions
from support.permissions import FILE, problems


def test_kafka_as_a_format_obeys_the_override_policy() -> None:
    source: Any = {"connector__class": "penstock.connectors.SparkSource", "format": "kafka"}
    source |= {"option__kafka__bootstrap__servers": "h:1", "option__subscribe": "t"}
    assert problems(Permissions(), **source) == {}
    found = problems(Permissions(policy=NONE), **source)
    assert "'None' policy does not allow 'bootstrap.servers'" in found["option.kafka.bootstrap.servers"]


RUNNING = [
    "sasl.kerberos.kinit.cmd",
    "ssl.engine.location",
    "ssl.engine.id",
    "ssl.engine.factory.class",
    "ssl.providers",
    "plugin.library.paths",
    "security.providers",
    "config.providers",
    "config.providers.x.class",
    "offset.store.path",
    "oauthbearer_token_refresh_cb",
]


@pytest.mark.parametrize("name", RUNNING)
def test_client_settings_that_run_commands_are_refused(name: str) -> None:
    for client in ("producer", "consumer", "admin"):
        key = f"{client}.override.{name}"
        found = problems(Permissions(), connector__class=FILE, **{key: "x"})
        assert re.fullmatch(rf"{re.escape(name)} may not be set by a connector: it (would|is for) .+", found[key])
    assert set(problems(Permissions(), connector__class=FILE, producer__override__linger__ms="5")) == set()


def test_every_setting_of_librdkafka_has_been_judged() -> None:
    """A new one that names a file, a command or a library has to be looked at."""
    suspicious = re.compile(r"cmd|engine|provider|plugin|librar|_cb$|signal|store\.(path|method)|exec|load")
    harmless = {"ssl_engine_callback_data"}
    found = {name for name in librdkafka_settings() if suspicious.search(name)} - harmless
    assert {"plugin.library.paths", "sasl.kerberos.kinit.cmd"} <= found
    given: Any = {f"producer.override.{name}": "x" for name in found}
    assert set(problems(Permissions(), connector__class=FILE, **given)) == set(given)


def librdkafka_settings() -> list[str]:
    """Return the names of all settings that librdkafka prints."""
    (library,) = (Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs").glob("librdkafka*")
    kafka, c = ctypes.CDLL(str(library)), ctypes.CDLL(None)
    c.fopen.restype = ctypes.c_void_p
    with tempfile.NamedTemporaryFile() as file:
        stream = ctypes.c_void_p(c.fopen(file.name.encode(), b"w"))
        kafka.rd_kafka_conf_properties_show(stream)
        c.fclose(stream)
        lines = Path(file.name).read_text().splitlines()
    return [line.split("|")[0].strip() for line in lines if re.match(r"[a-z][\w.]+ +\| +[*PC] +\|", line)]


@pytest.mark.parametrize(
    ("name", "value", "fine"),
    [
        ("metric.reporters", "org.example.Evil", False),
        ("partition.assignment.strategy", "org.apache.kafka.clients.consumer.RangeAssignor,org.example.Evil", False),
        ("partition.assignment.strategy", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor", True),
        ("partition.assignment.strategy", "range,roundrobin", True),
        ("value.deserializer", "org.example.Evil", False),
        ("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer", True),
        ("interceptor.classes", "org.apache.kafka.common.Fine,org.example.Evil", False),
        ("sasl.login.callback.handler.class", "org.example.Evil", False),
        ("SASL.jaas.config", "com.sun.security.auth.module.JndiLoginModule required x=y;", False),
        ("sasl.jaas.config", "// \r com.Evil required; /*\n x.PlainLoginModule required; //*/", False),
        ("sasl.jaas.config", 'org.apache.kafka.common.security.plain.PlainLoginModule required password="a;b";', True),
        ("sasl.oauthbearer.token.endpoint.url", "file:///etc/passwd", False),
        ("sasl.oauthbearer.token.endpoint.url", "https://login/token", True),
        ("sasl.oauthbearer.assertion.file", "/etc/passwd", False),
        ("max.poll.records", "5", True),
    ],
)
def test_settings_of_javas_clients_in_spark_are_checked(name: str, value: str, fine: bool) -> None:
    source: Any = {"connector__class": "penstock.connectors.SparkSource", "format": "kafka"}
    sink: Any = {"connector__class": "penstock.connectors.SparkSink", "path": "/x"}
    assert bool(problems(Permissions(), **source, **{f"option.kafka.{name}": value})) is not fine
    assert bool(problems(Permissions(), **sink, **{f"consumer.override.{name}": value})) is not fine
