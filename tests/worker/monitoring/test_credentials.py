"""Rows of the attention list about certificates that expire, and files that have changed since they were read."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from penstock.core.attention.rows import Row
from penstock.settings.providers import ConfigTransformer, DirectoryConfigProvider, FileConfigProvider
from penstock.worker.monitoring import credentials
from penstock.worker.monitoring.credentials import Credentials
from support.certificates import PASSWORD, Authority, jks_trust_store, pkcs12_key_store

DAY = 86_400.0


class Worker:
    def __init__(self, **config: str) -> None:
        self.now, self.here = time.time(), ["orders"]
        providers: dict[str, Any] = {"file": FileConfigProvider(), "dir": DirectoryConfigProvider()}
        self.transform = ConfigTransformer(providers).of_files().transform
        own = {name.replace("_", "."): value for name, value in config.items()}
        self.credentials = Credentials("one", own, self.transform, lambda: self.here, lambda: self.now)

    def start(self, config: dict[str, str]) -> None:
        self.credentials.starts("orders", config, self.transform(config))

    def rows(self) -> list[Row]:
        return sorted(self.credentials.rows(), key=lambda row: row.why)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request looks at the files."""
    monkeypatch.setattr(credentials, "LOOK_S", 0.0)


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority.make()


def test_a_certificate_that_expires_soon_has_a_row(tmp_path: Path, authority: Authority) -> None:
    """The test's certificates are valid for an hour from now."""
    own = authority.identity("orders-client")
    key_store = pkcs12_key_store(tmp_path / "own.p12", own, authority)
    trust_store = jks_trust_store(tmp_path / "trusted.jks", authority)
    (tmp_path / "secrets.properties").write_text(f"password={PASSWORD}\n")
    secret = f"${{file:{tmp_path}/secrets.properties:password}}"
    worker = Worker()
    worker.start(
        {
            "consumer.override.ssl.keystore.location": str(key_store),
            "consumer.override.ssl.keystore.password": secret,
            "database.history.ssl.truststore.location": str(trust_store),
            "database.history.ssl.truststore.password": PASSWORD,
            "producer.override.ssl.keystore.certificate.chain": own.certificate_pem,
            "broken.ssl.keystore.location": str(tmp_path / "missing.p12"),
        }
    )
    keys, trusted, chain = worker.rows()
    assert {row.kind for row in (keys, chain, trusted)} == {"expiring"}
    assert {(row.connector, row.worker, row.since_ms) for row in (keys, chain, trusted)} == {("orders", "one", None)}
    assert keys.why.startswith(
        "The certificate of consumer.override.ssl.keystore.location (CN=orders-client) expires within a day, at 20"
    )
    assert "producer.override.ssl.keystore.certificate.chain (CN=orders-client)" in chain.why
    assert "database.history.ssl.truststore.location (CN=Test authority)" in trusted.why
    assert keys.step.command == "penstock restart orders --include-tasks"

    worker.now += DAY
    expired = worker.rows()
    assert [" expired at " in row.why and row.since_ms is not None for row in expired] == [True] * 3
    worker.now -= 40 * DAY
    assert worker.rows() == []


def test_the_certificate_of_the_worker_is_looked_at(tmp_path: Path, authority: Authority) -> None:
    own = authority.identity("worker")
    pem = tmp_path / "own.pem"
    pem.write_text(own.key_pem() + own.certificate_pem)
    worker = Worker(listeners_https_ssl_keystore_location=str(pem))
    (row,) = worker.rows()
    assert (row.kind, row.connector, row.worker) == ("expiring", None, "one")
    pem.write_text(own.key_pem() + authority.identity("worker").certificate_pem)
    _, outdated = worker.rows()
    assert (outdated.kind, outdated.connector, outdated.step.text) == ("outdated", None, "Restart the worker")


def test_files_that_have_changed_since_the_start_have_a_row(tmp_path: Path) -> None:
    secrets, mounted = tmp_path / "secrets.properties", tmp_path / "mounted"
    secrets.write_text("password=one\nother=one\n")
    mounted.mkdir()
    (mounted / "token").write_text("one")
    config = {
        "connection.password": f"${{file:{secrets}:password}}",
        "token": f"Bearer ${{dir:{mounted}:token}}",
        "unknown": "${vault:path:key}",
        "missing": f"${{file:{tmp_path}/none.properties:key}}",
    }
    worker = Worker()
    given = {name: value for name, value in config.items() if name != "missing"}
    worker.credentials.starts("orders", config, worker.transform(given))
    assert worker.rows() == []

    secrets.write_text("# renewed\npassword=one\nother=two\n")
    assert worker.rows() == [], "the password is the same"
    secrets.write_text("password=two\n")
    (mounted / "token").write_text("two")
    (row,) = worker.rows()
    assert (row.kind, row.connector, row.since_ms) == ("outdated", "orders", int(worker.now * 1000))
    assert row.why.startswith("The files of connection.password, token have changed since they were read")
    assert "two" not in row.why
    assert row.step.action == "restart"

    worker.start(given)
    assert worker.rows() == []
    secrets.unlink()
    assert worker.rows() == [], "what cannot be read is no change: the next start says so"
    secrets.write_text("password=three\n")
    worker.here.clear()
    assert worker.rows() == [], "the connector runs elsewhere"
