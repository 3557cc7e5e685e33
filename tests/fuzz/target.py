"""What is attacked: the REST server of a worker with roles, on real sockets, before real herders and real plugins."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bcrypt
import httpx

from penstock.http.server import RestServer
from penstock.observe import LogLevels
from support.log_levels import levels_kept
from support.rest.cluster import RestCluster

CANARY = "canary7f3a"
ROLES = """
rules:
  - {users: [victor], actions: [view]}
  - {users: [oscar], actions: [view, operate, configure, offsets]}
  - {users: [ada], actions: [view, view-config, operate, configure, offsets, dead-letters, admin]}
"""
USERS = ("victor", "oscar", "ada")
MAY_SEE_SECRETS = frozenset({"ada"})
SECRETS = {
    "connector.class": "FileStreamSource",
    "topic": "t",
    "file": "/tmp/none",
    "producer.override.ssl.key.password": f"{CANARY}-1",
    "producer.override.sasl.jaas.config": f'org.apache.kafka.X required username="u" password="{CANARY}-2";',
    "my.api.key": f"{CANARY}-3",
    "registry.url": f"http://user:{CANARY}-4@host/",
    "connection.url": f"jdbc:postgresql://host/db?user=u&password={CANARY}-5",
    "reference": f"${{file:/{CANARY}-6:key}}",
    "db.pass": f"{CANARY}-7",
    "db.pwd": f"{CANARY}-8",
    "hook.url": f"https://{CANARY}-9@host/1",
    "blob.url": f"https://host/container?sv=1&sig={CANARY}-10",
    "http.headers": f"Accept: x\r\nAuthorization: Bearer {CANARY}-11",
    "servers": json.dumps([{"name": "password", "value": f"{CANARY}-12"}]),
    "pem": f"-----BEGIN PRIVATE KEY-----\\n{CANARY}-13\\n-----END PRIVATE KEY-----",
    "note": f"Password = {CANARY}-14;",
    "login": f'x.PlainLoginModule required username="u" password="{CANARY}-15";',
}
PLANTED = "orders-0"


@dataclass(slots=True)
class Lines(logging.Handler):
    """All lines of the log, and those of the audit apart."""

    texts: list[str] = field(default_factory=list)
    audit: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        logging.Handler.__init__(self)

    def __hash__(self) -> int:
        return id(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(self.format(record))
        if record.name == "penstock.audit":
            self.audit.append(json.loads(record.getMessage()))


@dataclass(frozen=True, slots=True)
class Target:
    url: str
    port: int
    lines: Lines
    errors: list[str]

    def plant(self) -> None:
        """The connector with the secrets, again if somebody has deleted or changed it."""
        answer = httpx.put(f"{self.url}connectors/{PLANTED}/config", json=SECRETS, auth=("ada", "right"), timeout=60)
        answer.raise_for_status()


@contextmanager
def target(folder: Path) -> Iterator[Target]:
    hashed = bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode()
    (folder / "htpasswd").write_text("".join(f"{user}:{hashed}\n" for user in USERS))
    (folder / "roles.yaml").write_text(ROLES)
    config = {
        "listeners": "http://127.0.0.1:0",
        "penstock.authentication.htpasswd": str(folder / "htpasswd"),
        "penstock.authorization.file": str(folder / "roles.yaml"),
        "penstock.rest.header.timeout.ms": "500",
        "penstock.rest.body.timeout.ms": "500",
    }
    lines, errors, lock = Lines(), [], threading.Lock()
    root, audit = logging.getLogger(), logging.getLogger("penstock.audit")
    with levels_kept(), ThreadPoolExecutor(2) as pool:
        root.addHandler(lines)
        root.setLevel(logging.INFO)
        audit.setLevel(logging.INFO)
        cluster = RestCluster(pool, LogLevels())
        cluster.start("one")

        def submit(request: Any) -> Any:
            with lock:
                return cluster.submit("one", request)

        about = cluster.metrics("one").about
        server = RestServer(config, submit, metrics=lambda: b"up 1\n", environment={}, about=about)
        server.start()
        try:
            yield Target(server.advertised_url, server.listeners[0].port, lines, errors)
        finally:
            server.stop(5)
