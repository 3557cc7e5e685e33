from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from penstock.api.errors import ConfigError
from penstock.kafka.clients import producer_config
from penstock.kafka.security.settings import Security
from support.certificates import PASSWORD, Authority, jks_trust_store, pkcs12_key_store, pkcs12_trust_store

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


def sasl(mechanism: str, jaas: str) -> dict[str, str]:
    return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": jaas}


def test_without_settings_nobody_logs_in():
    security = Security.of({"sasl.jaas.config": "not even read", "ssl.truststore.location": "/no/such/file"})
    assert security == Security("PLAINTEXT", None, None)
    assert security.principal == "User:ANONYMOUS"


@pytest.mark.parametrize("name", ["SASL_PLAINTEXT", "sasl_plaintext", "Sasl_Plaintext"])
def test_the_name_of_a_security_protocol_may_be_in_any_case(name: str):
    settings = sasl("PLAIN", f'{PLAIN} required username="a" password="b";') | {"security.protocol": name}
    assert Security.of(settings).principal == "User:a"
    native = producer_config({"bootstrap.servers": "a:1", **settings})
    assert (native["security.protocol"], native["sasl.username"]) == ("sasl_plaintext", "a")


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"security.protocol": "TLS"}, "String must be one of"),
        (sasl("CRAM-MD5", f"{PLAIN} required;"), "Only these can be used here: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"),
        (sasl("GSSAPI", f"{PLAIN} required;"), "The login module of sasl.mechanism=GSSAPI is Krb5LoginModule"),
        (
            sasl("AWS_MSK_IAM", "software.amazon.msk.auth.iam.IAMLoginModule required;"),
            "does not tell the region of Amazon MSK",
        ),
        (sasl("PLAIN", f'{SCRAM} required username="a" password="b";'), "of sasl.mechanism=PLAIN is PlainLoginModule"),
        (sasl("PLAIN", f'{PLAIN} required username="a";'), "It must give username and password for PLAIN"),
        (
            sasl("SCRAM-SHA-256", f'{SCRAM} required username="id" password="hmac" tokenauth="true";'),
            r"Delegation tokens \(tokenauth=true\) can't be used here",
        ),
        (
            {"security.protocol": "SSL", "ssl.keystore.key": "x"},
            r"ssl\.keystore\.key can't be used without ssl\.keystore\.c",
        ),
        (
            {"security.protocol": "SSL", "ssl.keystore.certificate.chain": "x"},
            r"ssl\.keystore\.certificate\.chain can't be used without ssl\.keystore\.key",
        ),
        ({"security.protocol": "SSL", "ssl.truststore.location": "/no/such/file"}, "The file can't be read: No such"),
    ],
)
def test_unusable_security_settings_are_refused(settings: dict[str, str], problem: str):
    with pytest.raises(ConfigError, match=problem):
        Security.of(settings)


def test_a_login_names_its_principal():
    security = Security.of(sasl("SCRAM-SHA-512", f'{SCRAM} required username="alice" password="secret";'))
    assert security.login is not None
    assert (security.login.username, security.login.password) == ("alice", "secret")
    assert security.principal == "User:alice"
    assert "secret" not in repr(security)


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority.make()


def stores(kind: str, folder: Path, authority: Authority) -> dict[str, str]:
    """Settings with a key of `client` and trust in the authority."""
    own = authority.identity("client")
    match kind:
        case "texts":
            return {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.certificate.chain": own.certificate_pem,
                "ssl.keystore.key": own.key_pem(PASSWORD),
                "ssl.key.password": PASSWORD,
                "ssl.truststore.type": "PEM",
                "ssl.truststore.certificates": authority.certificate_pem,
            }
        case "files":
            key, trust = folder / "key.pem", folder / "trust.pem"
            key.write_text(own.key_pem() + own.certificate_pem)
            trust.write_text(authority.certificate_pem)
        case "pkcs12":
            key = pkcs12_key_store(folder / "key.p12", own, authority)
            trust = pkcs12_trust_store(folder / "trust.p12", authority)
        case "jks":
            key = pkcs12_key_store(folder / "key.jks", own, authority)  # what Java's keytool calls JKS since 9
            trust = jks_trust_store(folder / "trust.jks", authority)
    return {
        "ssl.keystore.location": str(key),
        "ssl.keystore.password": PASSWORD,
        "ssl.truststore.location": str(trust),
        "ssl.truststore.password": PASSWORD,
    }


@pytest.mark.parametrize("kind", ["texts", "files", "pkcs12", "jks"])
def test_all_stores_say_the_same(kind: str, tmp_path: Path, authority: Authority):
    settings = {"security.protocol": "SSL", **stores(kind, tmp_path, authority)}
    security = Security.of(settings)
    assert security.principal == "User:CN=client"
    assert security.tls is not None
    assert security.tls.trusted is not None
    assert authority.certificate_pem.strip() in security.tls.trusted
    assert security.tls.check_host


def test_a_file_that_is_no_pem_though_it_should(tmp_path: Path):
    (tmp_path / "trust.pem").write_text("nothing")
    location = str(tmp_path / "trust.pem")
    with pytest.raises(ConfigError, match=r"It holds no PEM, as ssl.truststore.type says"):
        Security.of({"security.protocol": "SSL", "ssl.truststore.location": location, "ssl.truststore.type": "PEM"})


@pytest.mark.parametrize(("protocol", "warned"), [("SSL", True), ("PLAINTEXT", False)])
def test_settings_that_are_missed_are_named(protocol: str, warned: bool, caplog: pytest.LogCaptureFixture):
    settings: dict[str, Any] = {"security.protocol": protocol, "ssl.provider": "BC"}
    with caplog.at_level(logging.WARNING):
        producer_config(settings)
    assert ("The setting `ssl.provider` has no effect here" in caplog.text) is warned


def test_a_login_callback_handler_of_java_is_refused_with_what_to_use_instead() -> None:
    key, oauth = "sasl.login.callback.handler.class", sasl("OAUTHBEARER", f"{OAUTH} required;")
    own = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
    bootstrap = {"bootstrap.servers": "h:1"}
    assert key not in producer_config({**bootstrap, **oauth, key: own})
    with pytest.raises(ConfigError, match=r"for Amazon MSK use software\.amazon\.msk"):
        producer_config({**bootstrap, **oauth, key: "software.amazon.msk.auth.iam.IAMClientCallbackHandler"})


RETRIEVERS = "org.apache.kafka.common.security.oauthbearer."


@pytest.mark.parametrize("name", ["DefaultJwtRetriever", "ClientCredentialsJwtRetriever"])
def test_a_retriever_whose_work_the_client_does_itself(name: str) -> None:
    key, oauth = "sasl.oauthbearer.jwt.retriever.class", sasl("OAUTHBEARER", f"{OAUTH} required;")
    assert producer_config({**oauth, key: RETRIEVERS + name}) == producer_config(oauth)


@pytest.mark.parametrize("name", ["JwtBearerJwtRetriever", "FileJwtRetriever"])
def test_another_retriever_is_refused_by_name(name: str) -> None:
    key, oauth = "sasl.oauthbearer.jwt.retriever.class", sasl("OAUTHBEARER", f"{OAUTH} required;")
    with pytest.raises(
        ConfigError, match=rf"{RETRIEVERS}{name} for configuration {key}: tokens are requested with the"
    ):
        producer_config({**oauth, key: RETRIEVERS + name})


def test_a_validator_of_tokens_is_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    key, oauth = "sasl.oauthbearer.jwt.validator.class", sasl("OAUTHBEARER", f"{OAUTH} required;")
    with caplog.at_level(logging.WARNING):
        assert producer_config({**oauth, key: "com.example.Validator"}) == producer_config(oauth)
    assert caplog.messages == [f"The setting `{key}` has no effect here: tokens are checked by brokers"]


def test_blanks_around_values_are_none_of_them(tmp_path: Path, authority: Authority) -> None:
    """Such as the line end of a file that a config provider has read."""
    given = {**stores("pkcs12", tmp_path, authority), **sasl("PLAIN", f'{PLAIN} required username="a" password="b";')}
    given["security.protocol"] = "SASL_SSL"
    assert Security.of({name: f" {value}\n" for name, value in given.items()}) == Security.of(given)
    assert producer_config({name: f" {value}\n" for name, value in given.items()})["security.protocol"] == "sasl_ssl"
