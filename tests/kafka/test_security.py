from __future__ import annotations

import pytest

from penstock.api.errors import ConfigError
from penstock.kafka.clients import producer_config
from penstock.kafka.security import parse_jaas, translate_security

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


def test_a_plain_login():
    config = producer_config(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{PLAIN} required\n username="a b" password="c;\\"d";',
        }
    )
    assert config["security.protocol"] == "sasl_ssl"
    assert config["sasl.mechanism"] == "PLAIN"
    assert (config["sasl.username"], config["sasl.password"]) == ("a b", 'c;"d')


def test_a_login_by_tokens():
    settings = {
        "sasl.oauthbearer.token.endpoint.url": "https://auth/token",
        "sasl.jaas.config": f'{OAUTH} required clientId="i" clientSecret="s" scope="x" extension_logicalCluster="l";',
    }
    assert translate_security(settings) == {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "i",
        "sasl.oauthbearer.client.secret": "s",
        "sasl.oauthbearer.scope": "x",
        "sasl.oauthbearer.extensions": "logicalCluster=l",
    }


@pytest.mark.parametrize(
    "text", ["", "nonsense", f"{PLAIN} required username=a", f"{PLAIN} required; {PLAIN} required;"]
)
def test_what_is_no_login_module(text: str):
    with pytest.raises(ConfigError, match=r"Invalid value \[hidden\] for configuration sasl.jaas.config"):
        parse_jaas(text)


def test_a_login_module_of_somebody_elses():
    with pytest.raises(ConfigError, match="The login module should be"):
        translate_security({"sasl.jaas.config": "com.example.LoginModule required;"})


def test_pem_is_passed_on():
    assert translate_security(
        {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": "CERT",
            "ssl.keystore.key": "KEY",
            "ssl.key.password": "secret",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": "/etc/ca.pem",
        }
    ) == {
        "ssl.certificate.pem": "CERT",
        "ssl.key.pem": "KEY",
        "ssl.key.password": "secret",
        "ssl.ca.location": "/etc/ca.pem",
    }


def test_a_store_that_is_not_there():
    with pytest.raises(ConfigError, match=r"/no/such/file for configuration ssl.truststore.location"):
        translate_security({"ssl.truststore.location": "/no/such/file"})
