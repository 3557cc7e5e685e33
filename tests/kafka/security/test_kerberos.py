"""Logins with Kerberos: what each client library gets, and what is refused. With a KDC: ``worker/test_kerberos.py``."""

from __future__ import annotations

import sys

import pytest

from penstock.api.errors import ConfigError, KafkaError
from penstock.kafka.clients import admin_config, consumer_config, new_producer, producer_config
from penstock.kafka.security import tickets
from penstock.kafka.security.clients import for_kafka_python
from penstock.kafka.security.kerberos import Kerberos
from penstock.kafka.security.settings import Security

MODULE = "com.sun.security.auth.module.Krb5LoginModule"
KEYTAB = 'useKeyTab=true storeKey=true keyTab="/etc/connect.keytab" principal="connect/host.example.com@EXAMPLE.COM"'


def settings(options: str = KEYTAB, **others: str) -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.kerberos.service.name": "kafka",
        "sasl.jaas.config": f"{MODULE} required {options};",
        **{name.replace("__", "."): value for name, value in others.items()},
    }


@pytest.mark.parametrize("config", [producer_config, consumer_config, admin_config])
def test_librdkafka_uses_the_tickets_of_the_process(config):
    """GSSAPI is Java's default mechanism. No program is started for tickets: librdkafka would, every minute."""
    native = config(settings(sasl__kerberos__service__name="broker"))
    assert {name: value for name, value in native.items() if name.startswith("sasl.")} == {
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.service.name": "broker",
        "sasl.kerberos.min.time.before.relogin": 0,
    }


def test_kafka_python_uses_them_too():
    assert for_kafka_python(settings()) == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "GSSAPI",
        "sasl_kerberos_service_name": "kafka",
    }


def kerberos(given: dict[str, str]) -> Kerberos:
    login = Security.of(given).login
    assert login is not None
    assert login.kerberos is not None
    return login.kerberos


def test_a_keytab():
    principal = "connect/host.example.com@EXAMPLE.COM"
    assert kerberos(settings()) == Kerberos("kafka", principal, "/etc/connect.keytab")
    assert kerberos(settings(f"useTicketCache=true {KEYTAB}")).keytab == "/etc/connect.keytab"
    assert Security.of(settings()).principal == "User:connect"


def test_a_ticket_cache():
    assert kerberos(settings("useTicketCache=true")) == Kerberos("kafka", "")
    named = kerberos(settings('useTicketCache=true ticketCache="/tmp/tickets" principal="me@EXAMPLE.COM"'))
    assert named == Kerberos("kafka", "me@EXAMPLE.COM", cache="/tmp/tickets")
    assert Security.of(settings("useTicketCache=true")).principal == "User:the owner of the tickets"


def test_the_service_may_stand_in_either_place():
    nowhere = {name: value for name, value in settings().items() if name != "sasl.kerberos.service.name"}
    in_module = {**nowhere, "sasl.jaas.config": f'{MODULE} required {KEYTAB} serviceName="broker";'}
    assert kerberos(in_module).service == "broker"
    with pytest.raises(ConfigError, match=r"sasl\.kerberos\.service\.name is missing"):
        Security.of(nowhere)
    with pytest.raises(ConfigError, match=r"serviceName of sasl.jaas.config is another one, broker"):
        Security.of({**in_module, "sasl.kerberos.service.name": "kafka"})


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("", r"needs `useKeyTab=true .* or `useTicketCache=true`; passwords can't be used"),
        ('useKeyTab=true keyTab="/k"', "with a keytab both its file and the principal"),
        ('useKeyTab=true principal="p"', "with a keytab both its file and the principal"),
        ('useKeyTab=true keyTab="/k" principal="*"', "with a keytab both its file and the principal"),
    ],
)
def test_unusable_kerberos_settings_are_refused(options: str, problem: str):
    with pytest.raises(ConfigError, match=problem):
        Security.of(settings(options))


def test_renewal_is_not_configurable(caplog: pytest.LogCaptureFixture):
    producer_config(settings(sasl__kerberos__ticket__renew__window__factor="0.5"))
    assert (
        "`sasl.kerberos.ticket.renew.window.factor` has no effect here: libkrb5 renews tickets by itself" in caplog.text
    )


def test_missing_kerberos_libraries_are_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "gssapi", None)  # as if it were not installed
    with pytest.raises(KafkaError, match="Failed to construct kafka producer") as failure:
        new_producer({**settings(), "bootstrap.servers": "localhost:1"})
    assert "pip install 'penstock[kerberos]'" in str(failure.value.__cause__)
    assert "libkrb5-dev" in str(failure.value.__cause__)


@pytest.mark.skipif(tickets.librdkafka_has_gssapi(), reason="here librdkafka is built with GSSAPI")
def test_a_librdkafka_of_a_wheel_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "gssapi", sys)  # whether it is installed is not the question here
    with pytest.raises(ConfigError, match=r"built without GSSAPI.* libsasl2-dev.* cyrus-sasl-devel.*--no-binary"):
        tickets.log_in(settings())
