"""Both client libraries get equivalent settings."""

from __future__ import annotations

import base64
import json
import logging
import queue
import ssl
import time
from http.client import BadStatusLine
from pathlib import Path
from unittest.mock import MagicMock, Mock

import pytest
from kafka.errors import KafkaConnectionError
from kafka.net.sasl import get_sasl_mechanism

from penstock.api.errors import ConfigError, ConnectError
from penstock.kafka.clients import new_producer
from penstock.kafka.security import oauth
from penstock.kafka.security.clients import chain_in_file, for_kafka_python, for_librdkafka, ssl_context
from penstock.kafka.security.settings import Security, Tls
from support.certificates import PASSWORD, Authority

STORES = Path(__file__).parents[2] / "java" / "golden" / "stores"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


@pytest.mark.parametrize(
    ("mechanism", "module"), [("PLAIN", PLAIN), ("SCRAM-SHA-256", SCRAM), ("SCRAM-SHA-512", SCRAM)]
)
def test_name_and_password(mechanism: str, module: str):
    settings = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'{module} required username="alice" password="s\\"e=c;ret";',
    }
    assert for_librdkafka(settings) == {"sasl.username": "alice", "sasl.password": 's"e=c;ret'}
    assert for_kafka_python(settings) == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "alice",
        "sasl_plain_password": 's"e=c;ret',
    }


@pytest.mark.parametrize(
    ("mechanism", "module", "sent"),
    [("PLAIN", PLAIN, b"\0CN=a,O=b\0p"), ("SCRAM-SHA-512", SCRAM, b"n,,n=CN=3Da=2CO=3Db,r=")],
)
def test_a_name_is_sent_as_its_mechanism_wants(mechanism: str, module: str, sent: bytes) -> None:
    settings = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'{module} required username="CN=a,O=b" password="p";',
    }
    assert for_librdkafka(settings)["sasl.username"] == "CN=a,O=b"  # librdkafka escapes it itself
    assert sent in get_sasl_mechanism(mechanism)(**for_kafka_python(settings)).auth_bytes()


def test_tokens_from_an_endpoint():
    settings = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": "https://auth/token",
        "sasl.jaas.config": f'{OAUTH} required clientId="i" clientSecret="s" scope="x" extension_logicalCluster="l";',
    }
    assert for_librdkafka(settings) == {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "i",
        "sasl.oauthbearer.client.secret": "s",
        "sasl.oauthbearer.scope": "x",
        "sasl.oauthbearer.extensions": "logicalCluster=l",
    }
    assert for_kafka_python(settings)["sasl_oauth_token_provider"].extensions() == {"logicalCluster": "l"}


def test_tokens_without_a_signature():
    settings = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f'{OAUTH} required unsecuredLoginStringClaim_sub="alice";',
    }
    assert for_librdkafka(settings) == {
        "enable.sasl.oauthbearer.unsecure.jwt": True,
        "sasl.oauthbearer.config": "principal=alice",
    }
    provider = for_kafka_python(settings)["sasl_oauth_token_provider"]
    header, claims, signature = provider.token().split(".")
    assert (header, signature) == (base64.b64encode(b'{"alg":"none"}').decode().rstrip("="), "")
    assert json.loads(base64.urlsafe_b64decode(claims + "=="))["sub"] == "alice"
    assert provider.token() == f"{header}.{claims}."


def test_keys_and_certificates_in_the_settings():
    authority = Authority.make()
    own = authority.identity("client")
    settings = {
        "security.protocol": "SSL",
        "ssl.truststore.certificates": authority.certificate_pem,
        "ssl.keystore.certificate.chain": own.certificate_pem,
        "ssl.keystore.key": own.key_pem(PASSWORD),
        "ssl.key.password": PASSWORD,
        "ssl.endpoint.identification.algorithm": "",
    }
    assert for_librdkafka(settings) == {
        "ssl.ca.pem": authority.certificate_pem,
        "ssl.certificate.pem": own.certificate_pem,
        "ssl.key.pem": settings["ssl.keystore.key"],
        "ssl.key.password": PASSWORD,
    }
    context = for_kafka_python(settings)["ssl_context"]
    assert [dict(pair[0] for pair in ca["subject"]) for ca in context.get_ca_certs()] == [
        {"commonName": "Test authority"}
    ]
    assert not context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED


def test_a_wrong_password_of_a_key_is_a_sentence():
    own = Authority.make().identity("client")
    tls = Tls(None, own.key_pem(PASSWORD), "wrong", own.certificate_pem, True)
    with pytest.raises(ConfigError, match=r"The key or certificate of `ssl.keystore` can't be used"):
        ssl_context(tls)


def test_certificates_between_are_given_in_a_file():
    authority = Authority.make()
    chain = authority.identity("client").certificate_pem + authority.certificate_pem
    with chain_in_file({"ssl.certificate.pem": chain, "acks": "all"}) as given:
        assert set(given) == {"ssl.certificate.location", "acks"}
        location = Path(given["ssl.certificate.location"])
        assert location.read_text() == chain
    assert not location.exists()
    with chain_in_file({"ssl.certificate.pem": authority.certificate_pem}) as given:
        assert given == {"ssl.certificate.pem": authority.certificate_pem}


def test_key_stores_are_read_once_for_both_clients():
    assert for_kafka_python({})["security_protocol"] == Security.of({}).protocol == "PLAINTEXT"
    assert for_librdkafka({}) == {}


def test_a_client_with_javas_stores():
    java = {
        "bootstrap.servers": "127.0.0.1:1",
        "security.protocol": "SSL",
        "ssl.keystore.location": str(STORES / "key.p12"),
        "ssl.keystore.password": "changeit",
        "ssl.truststore.location": str(STORES / "trust.jks"),
        "ssl.truststore.password": "changeit",
    }
    assert set(for_librdkafka(java)) == {"ssl.key.pem", "ssl.certificate.pem", "ssl.ca.pem"}
    assert new_producer(java) is not None


@pytest.mark.parametrize("store", ["keystore", "truststore"])
def test_a_store_that_can_not_be_opened(store: str):
    wrong = {
        "security.protocol": "SSL",
        f"ssl.{store}.location": str(STORES / "key.p12"),
        f"ssl.{store}.password": "wrong",
    }
    with pytest.raises(ConfigError, match=rf"The key store of `ssl\.{store}\.location` can't be opened"):
        for_librdkafka(wrong)


def test_a_login_module_that_can_not_be_read_is_not_shown():
    wrong = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": "secret"}
    with pytest.raises(
        ConfigError, match=r"Invalid value \[hidden\] for configuration sasl\.jaas\.config: It should be"
    ):
        for_librdkafka(wrong)


def test_keys_and_certificates_may_be_single_lines() -> None:
    """In a properties file a backslash ends each line except the last, which joins them."""
    authority = Authority.make()
    own = authority.identity("client")
    lines = {
        "security.protocol": "SSL",
        "ssl.truststore.certificates": own.certificate_pem + authority.certificate_pem,
        "ssl.keystore.certificate.chain": own.certificate_pem + authority.certificate_pem,
        "ssl.keystore.key": own.key_pem(PASSWORD),
        "ssl.key.password": PASSWORD,
    }
    single = {name: value.replace("\n", " ") for name, value in lines.items()}
    assert Security.of(single) == Security.of(lines)
    assert len(for_kafka_python(single)["ssl_context"].get_ca_certs()) == 1
    assert new_producer({"bootstrap.servers": "127.0.0.1:1", **single}) is not None


def test_a_token_is_requested_with_what_the_settings_say_without_the_line_end_of_a_file() -> None:
    provider = for_kafka_python(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.endpoint.url": "file:///etc/passwd\n",
            "sasl.jaas.config": f"{OAUTH} required;",
        }
    )["sasl_oauth_token_provider"]
    with pytest.raises(ConfigError, match=r"^Invalid value file:///etc/passwd for configuration sasl\.oauthbearer"):
        provider.token()


def test_a_token_is_used_until_it_ends_while_no_other_can_be_had(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/token",
        "sasl.jaas.config": f"{OAUTH} required;",
    }
    provider = for_kafka_python(settings)["sasl_oauth_token_provider"]
    clock = Mock(return_value=1000.0)
    monkeypatch.setattr(oauth, "_now", clock)
    with monkeypatch.context() as answering:
        answering.setattr(oauth.OAuthTokens, "_fetched", lambda self: ("first", 100.0))
        assert provider.token() == "first"
    for clock.return_value in (1090.0, 1091.0, 1099.5):
        assert provider.token() == "first"
        provider._attempt.exception()
    clock.return_value = 1101.0
    with pytest.raises(
        KafkaConnectionError, match=r"Failed to get a token from sasl\.oauthbearer\.token\.endpoint\.url"
    ):
        provider.token()
    (told,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert told.endswith("; the last one is used until it ends")


def test_a_slow_token_endpoint_does_not_hold_the_thread_that_logs_in(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/token",
        "sasl.jaas.config": f"{OAUTH} required;",
    }
    provider = for_kafka_python(settings)["sasl_oauth_token_provider"]
    answers: queue.SimpleQueue[tuple[str, float]] = queue.SimpleQueue()
    monkeypatch.setattr(oauth.OAuthTokens, "_fetched", lambda self: answers.get())
    clock = Mock(return_value=1000.0)
    monkeypatch.setattr(oauth, "_now", clock)
    with monkeypatch.context() as impatient:
        impatient.setattr(oauth, "_PATIENCE", 0.0)
        with pytest.raises(KafkaConnectionError, match="There has been no token for 0 s; it is awaited"):
            provider.token()
    answers.put(("first", 100.0))
    assert provider.token() == "first"
    clock.return_value = 1085.0
    assert provider.token() == "first"  # while the next one is being fetched
    answers.put(("second", 100.0))
    provider._attempt.result()
    assert provider.token() == "second"


@pytest.mark.security
@pytest.mark.parametrize("endless", [True, False])
def test_an_answer_that_is_none_of_a_token_endpoint(monkeypatch: pytest.MonkeyPatch, endless: bool) -> None:
    """A connector's configuration may name any server as its endpoint."""
    settings = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/token",
        "sasl.jaas.config": f"{OAUTH} required;",
    }
    answer = MagicMock()
    answer.__enter__.return_value.read = (
        (lambda most: b"[" * min(most, 1 << 24)) if endless else Mock(side_effect=BadStatusLine("x"))
    )
    monkeypatch.setattr(oauth.urllib.request, "urlopen", Mock(return_value=answer))
    with pytest.raises(ConnectError, match=r"Failed to get a token from sasl\.oauthbearer\.token\.endpoint\.url"):
        for_kafka_python(settings)["sasl_oauth_token_provider"]._fetched()


@pytest.mark.parametrize("jump", [-3600.0, 3600.0])
def test_a_token_is_renewed_in_time_though_the_clock_is_set(jump: float, monkeypatch: pytest.MonkeyPatch) -> None:
    lives = iter([("first", 0.5), ("second", 100.0), ("third", 100.0)])
    monkeypatch.setattr(oauth.OAuthTokens, "_fetched", lambda self: next(lives))
    settings = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/token",
        "sasl.jaas.config": f"{OAUTH} required;",
    }
    tokens = for_kafka_python(settings)["sasl_oauth_token_provider"]
    assert tokens.token() == "first"
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + jump)
    assert tokens.token() == "first"
    time.sleep(0.6)
    assert tokens.token() == "second"
    assert tokens.token() == "second"
