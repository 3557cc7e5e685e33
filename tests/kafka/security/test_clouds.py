"""Logins to Kafka services of clouds, by the clouds' libraries: a real broker checks the tokens, without a cloud."""

from __future__ import annotations

import base64
import json
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from google.oauth2.credentials import Credentials

from penstock.api.errors import ConfigError
from penstock.api.kafka_security import AWS, AZURE, GCP, IAM_LOGIN, LOGIN_HANDLERS
from penstock.embedded import Broker
from penstock.embedded.ports import free_port
from penstock.kafka.clients import new_admin, new_consumer, new_producer, producer_config
from penstock.kafka.security.clients import for_kafka_python
from penstock.kafka.security.clouds import google_token

LOGIN_HANDLER = "sasl.login.callback.handler.class"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
MSK = "b-1.demo.abc123.c2.kafka.eu-west-1.amazonaws.com:9098"


def settings(cloud: str, servers: str, options: str = "") -> dict[str, str]:
    (handler,) = [name for name, of in LOGIN_HANDLERS.items() if of == cloud]
    return {
        "bootstrap.servers": servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f"{OAUTH} required {options};",
        LOGIN_HANDLER: handler,
    }


def msk_iam(servers: str) -> dict[str, str]:
    """Return the settings that users of Amazon's library for Java write."""
    return {
        "bootstrap.servers": servers,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "AWS_MSK_IAM",
        "sasl.jaas.config": f"{IAM_LOGIN} required;",
        "sasl.client.callback.handler.class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
    }


def opened(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    monkeypatch.delenv("AWS_REGION", raising=False)


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("given", [settings(AWS, MSK), msk_iam(MSK)], ids=["OAUTHBEARER", "AWS_MSK_IAM"])
def test_a_token_of_amazon_is_a_signed_url(given: dict[str, str]) -> None:
    native = producer_config(given)
    assert native["sasl.mechanism"] == "OAUTHBEARER"
    text, expires = native["oauth_cb"]("")
    assert time.time() < expires < time.time() + 3600
    url = urlsplit(opened(text).decode())
    query = parse_qs(url.query)
    assert url.netloc == "kafka.eu-west-1.amazonaws.com"
    assert query["Action"] == ["kafka-cluster:Connect"]
    assert query["X-Amz-Credential"][0].startswith("AKIATEST/")
    assert len(query["X-Amz-Signature"][0]) == 64
    assert "canary" not in str(query)
    python = for_kafka_python(given)
    assert python["sasl_mechanism"] == "OAUTHBEARER"
    assert opened(python["sasl_oauth_token_provider"].token()).startswith(b"https://kafka.eu-west-1.")


@pytest.mark.usefixtures("aws")
def test_the_region_of_amazon(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="does not tell the region of Amazon MSK: set the environment variable AWS_"):
        producer_config(settings(AWS, "broker.internal:9098"))
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-2")
    text, _ = producer_config(settings(AWS, "broker.internal:9098"))["oauth_cb"]("")
    assert opened(text).startswith(b"https://kafka.us-east-2.")


def test_a_token_of_google_has_the_access_token_for_a_signature() -> None:
    expiry = datetime.now(UTC).replace(tzinfo=None) + timedelta(hours=1)  # as in Google's library
    made = google_token(Credentials("ya29.access", expiry=expiry, account="me@example.com"))
    header, claims, access = made.text.split(".")
    assert json.loads(opened(header)) == {"typ": "JWT", "alg": "GOOG_OAUTH2_TOKEN"}
    assert json.loads(opened(claims))["sub"] == "me@example.com"
    assert opened(access) == b"ya29.access"
    assert abs(made.expires - time.time() - 3600) < 60


@pytest.mark.parametrize("cloud", [AWS, AZURE, GCP])
def test_an_extra_that_is_missing_is_named(cloud: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("aws_msk_iam_sasl_signer", "azure.identity", "google.auth"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError, match=rf"pip install 'penstock\[{cloud}\]'"):
        producer_config(settings(cloud, MSK))


class Identity(BaseHTTPRequestHandler):
    """Azure's managed identity endpoint, as in a web app: it issues tokens for ``kafka-client``."""

    def do_GET(self) -> None:
        now = int(time.time())
        claims = {"sub": "kafka-client", "iat": now, "exp": now + 3600, "aud": parse_qs(urlsplit(self.path).query)}
        parts = ({"alg": "none"}, claims)
        token = ".".join(base64.urlsafe_b64encode(json.dumps(p).encode()).rstrip(b"=").decode() for p in parts) + "."
        body = {"access_token": token, "expires_on": str(now + 3600), "resource": "x", "token_type": "Bearer"}
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        return


@pytest.fixture
def identity(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    server = HTTPServer(("127.0.0.1", 0), Identity)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    monkeypatch.setenv("IDENTITY_ENDPOINT", f"http://127.0.0.1:{server.server_port}/token")
    monkeypatch.setenv("IDENTITY_HEADER", "h")
    yield
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.integration
@pytest.mark.usefixtures("identity")
def test_a_broker_takes_the_token_of_every_client() -> None:
    port = free_port()
    extra = {
        "listeners": f"SASL://127.0.0.1:{port}",
        "advertised.listeners": f"SASL://localhost:{port}",
        "listener.security.protocol.map": "SASL:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.sasl.oauthbearer.sasl.jaas.config": f'{OAUTH} required unsecuredLoginStringClaim_sub="broker";',
    }
    with Broker(extra=extra):
        given = settings(AZURE, f"localhost:{port}")
        producer = new_producer(given)
        producer.produce("t", b"x")
        assert producer.flush(300) == 0
        assert "t" in new_admin(given).list_topics(timeout=900).topics
        consumer = new_consumer({**given, "group.id": "g", "auto.offset.reset": "earliest"})
        consumer.subscribe(["t"])
        message = consumer.poll(300)
        assert message is not None
        assert message.value() == b"x"
        consumer.close()
        from kafka import KafkaAdminClient

        python = KafkaAdminClient(bootstrap_servers=f"localhost:{port}", **for_kafka_python(given))
        assert "t" in python.list_topics()
        python.close()
