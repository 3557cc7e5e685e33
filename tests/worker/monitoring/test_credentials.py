"""Rows of the attention list about certificates that expire, and files that have changed since they were read."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock.core.attention.rows import Row, ordered
from penstock.core.model.tasks import TaskEnded, TaskId, TaskRunning
from penstock.settings import providers
from penstock.settings.providers import ConfigTransformer, DirectoryConfigProvider, FileConfigProvider
from penstock.worker.monitoring import credentials
from penstock.worker.monitoring.credentials import Credentials
from support.certificates import PASSWORD, Authority, jks_trust_store, pkcs12_key_store

DAY = 86_400.0


class AtOnce(Executor):
    def submit(self, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(call(*args, **kwargs))
        return future


class Worker:
    def __init__(self, **config: str) -> None:
        self.now, self.here, self.config = time.time(), ["orders"], dict[str, str]()
        known: dict[str, Any] = {"file": FileConfigProvider(), "dir": DirectoryConfigProvider()}
        resolve = ConfigTransformer(known).of_files().transform
        own = {name.replace("_", "."): value for name, value in config.items()}
        self.credentials = Credentials(
            "one", own, resolve, lambda: self.here, lambda name: self.config, AtOnce(), lambda: self.now
        )

    def start(self, config: dict[str, str], run: int = 1) -> None:
        """Start a task of a connector with this configuration."""
        self.config = config
        self.credentials.observe(TaskRunning(TaskId("orders", 0), run))

    def rows(self) -> list[Row]:
        return sorted(self.credentials.rows(), key=lambda row: row.why)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request looks at the files."""
    monkeypatch.setattr(credentials, "LOOK_S", 0.0)


@pytest.fixture(scope="module")
def authority() -> Authority:
    """An authority whose certificates are valid for an hour from now."""
    return Authority.make()


def test_stores_that_expire_soon_have_a_row(tmp_path: Path, authority: Authority) -> None:
    own = authority.identity("orders-client")
    key_store = pkcs12_key_store(tmp_path / "own.p12", own, authority)
    trust_store = jks_trust_store(tmp_path / "trusted.jks", authority)
    worker = Worker()
    for name, value in {
        "consumer.override.ssl.keystore.location": str(key_store),
        "database.history.ssl.truststore.location": str(trust_store),
        "producer.override.ssl.keystore.certificate.chain": own.certificate_pem,
        "ssl.truststore.certificates": authority.certificate_pem,
    }.items():
        prefix = name.rpartition(".")[0]
        worker.credentials.starts("orders", {name: value, f"{prefix}.password": PASSWORD})
        (row,) = worker.rows()
        assert (row.kind, row.connector, row.worker) == ("expiring", "orders", "one")
        assert row.why.startswith(f"The certificate of {name} expires within a day, at 20")
    assert row.step.command == "penstock restart orders --include-tasks"
    worker.now += DAY
    (expired,) = worker.rows()
    assert "ssl.truststore.certificates expired at 20" in expired.why
    assert row.since_ms is not None
    assert expired.since_ms == row.since_ms + 30 * DAY * 1000
    worker.now -= 40 * DAY
    assert worker.rows() == []


def test_many_stores_have_one_row_for_the_connector(authority: Authority) -> None:
    worker = Worker()
    worker.credentials.starts(
        "orders", {f"a{n}.ssl.truststore.certificates": authority.certificate_pem for n in range(9)}
    )
    (row,) = worker.rows()
    assert ", a2.ssl.truststore.certificates and 6 more expires within a day" in row.why


def test_what_cannot_be_read_has_no_row(tmp_path: Path, authority: Authority) -> None:
    worker = Worker(ssl_truststore_location="a\0b")
    worker.credentials.starts(
        "orders",
        {
            "missing.ssl.keystore.location": str(tmp_path / "missing.p12"),
            "nul.ssl.keystore.location": "a\0b",
            "null.ssl.keystore.location": None,
            "text.ssl.keystore.certificate.chain": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "a\nb.ssl.truststore.certificates": authority.certificate_pem,
            "ssl.keystore.certificates": authority.certificate_pem,
        },
    )
    assert worker.rows() == []


def test_the_stores_of_the_worker_are_looked_at(tmp_path: Path, authority: Authority) -> None:
    own = authority.identity("worker")
    pem = tmp_path / "own.pem"
    pem.write_text(own.key_pem() + own.certificate_pem)
    worker = Worker(listeners_https_ssl_keystore_location=str(pem))
    (row,) = worker.rows()
    assert (row.kind, row.connector, row.worker) == ("expiring", None, "one")
    pem.write_text(own.key_pem() + authority.identity("worker").certificate_pem)
    _, outdated = worker.rows()
    assert (outdated.kind, outdated.connector, outdated.step.text) == ("outdated", None, "Restart the worker")
    assert ordered([row, replace(row, worker="two")]) == [row, replace(row, worker="two")]


def test_files_that_have_changed_since_a_task_was_started_have_a_row(tmp_path: Path) -> None:
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
    worker.start(config)
    assert worker.rows() == []

    secrets.write_text("# renewed\npassword=one\nother=two\n")
    assert worker.rows() == [], "the password is the same"
    worker.now += 60
    secrets.write_text("password=two\n")
    (mounted / "token").write_text("two")
    (row,) = worker.rows()
    seen = int(worker.now * 1000)
    assert (row.kind, row.connector, row.tasks, row.since_ms) == ("outdated", "orders", (0,), seen)
    assert row.why.startswith("The files of connection.password, token have changed since they were read")
    assert "two" not in row.why
    assert row.step.action == "restart"
    worker.now += 60
    worker.start(config)
    (row,) = worker.rows()
    assert row.since_ms == seen, "the same run"

    worker.start(config, run=2)
    assert worker.rows() == []
    secrets.unlink()
    assert worker.rows() == [], "what cannot be read is no change: the next start says so"
    secrets.write_text("password=three\n")
    assert [row.kind for row in worker.rows()] == ["outdated"]
    worker.credentials.observe(TaskEnded(TaskId("orders", 0), 2))
    assert worker.rows() == [], "the task runs elsewhere"


def test_many_references_to_a_file_read_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = tmp_path / "secrets.properties"
    secrets.write_text("".join(f"key{n}=one\n" for n in range(500)))
    worker, reads = Worker(), list[Path]()
    worker.start({f"a{n}": f"${{file:{secrets}:key{n}}}" for n in range(500)})
    read = providers.read_file
    monkeypatch.setattr(providers, "read_file", lambda path: (reads.append(path), read(path))[1])
    assert worker.rows() == []
    assert reads == [secrets]
