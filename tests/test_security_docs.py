"""docs/security.md says what is true: its table of switches, and its example, with which a worker really starts."""

from __future__ import annotations

import json
import re
import ssl
from pathlib import Path
from typing import Any

import bcrypt
import httpx
import pytest

from penstock.api.config import NO_DEFAULT, ConfigDef
from penstock.java.properties import parse_properties
from penstock.settings.definitions import distributed_config
from penstock.settings.security import define_access, define_permissions, define_rest_limits
from support.certificates import Authority
from support.kafka.client import Kafka
from support.waiting import SECONDS, until
from support.worker_process import SPARKS_JAVA, RestClient, WorkerProcess

PAGE = (Path(__file__).parents[1] / "docs" / "security.md").read_text()
pytestmark = pytest.mark.security
FAMILIES = ("listeners.https.", "spark.")


def rows(title: str) -> list[list[str]]:
    section = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line] for line in lines]


SWITCHES = {row[0].strip("`"): row[1] for row in rows("Every switch")}


def test_every_switch_is_in_the_table() -> None:
    wanted = ConfigDef()
    for define in (define_rest_limits, define_permissions, define_access):
        define(wanted)
    settings = distributed_config().keys
    more = {name for name in settings if name.startswith(("access.control.", "inter.worker.", "connector.client."))}
    assert (set(wanted.keys) | more) - set(SWITCHES) == set()
    assert [name for name in SWITCHES if name not in settings and not name.startswith(FAMILIES)] == []


@pytest.mark.parametrize("name", [name for name in SWITCHES if not name.startswith(FAMILIES)])
def test_defaults_are_those_of_the_settings(name: str) -> None:
    default: Any = distributed_config().keys[name].default
    shown = ",".join(map(str, default)) if isinstance(default, list) else default
    if default in (None, NO_DEFAULT) or shown == "":
        assert "`" not in SWITCHES[name] or name in ("admin.listeners", "penstock.spark.formats.allowed")
    else:
        text = str(shown).lower() if isinstance(default, bool) else str(shown)
        assert SWITCHES[name] == f"`{text}`"


EXAMPLE = re.search(r"```properties\n(.*?)```", PAGE, re.DOTALL)
ROLES = """
rules:
  - {users: [ada], actions: [view, view-config, configure, admin]}
  - {users: [victor], actions: [view]}
"""


class Hardened(WorkerProcess):
    """The example, with files of this machine, a free port, and names of its own."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        super().__init__(bootstrap, folder)
        assert EXAMPLE is not None
        own = {key: self.settings[key] for key in self.settings if key.endswith((".topic", ".factor", "group.id"))}
        given = parse_properties(EXAMPLE[1].replace("/etc/penstock", str(folder)).replace("/srv/connect", str(folder)))
        self.settings = {
            **given,
            **own,
            "bootstrap.servers": bootstrap,
            "listeners": "https://localhost:0",
            "penstock.audit.topic": f"{self.name}-audit",
            SPARKS_JAVA: self.settings[SPARKS_JAVA],
        }
        self.http = RestClient(
            timeout=SECONDS, auth=("ada", "right"), verify=ssl.create_default_context(cafile=str(folder / "ca.pem"))
        )


@pytest.mark.integration
@pytest.mark.slow
def test_a_worker_starts_with_the_hardened_example(bootstrap: str, kafka: Kafka, tmp_path: Path) -> None:
    authority = Authority.make()
    own = authority.identity("worker")
    (tmp_path / "worker.pem").write_text(own.key_pem() + own.certificate_pem)
    (tmp_path / "ca.pem").write_text(authority.certificate_pem)
    hashed = bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode()
    (tmp_path / "htpasswd").write_text(f"ada:{hashed}\nvictor:{hashed}\n")
    (tmp_path / "roles.yaml").write_text(ROLES)
    (tmp_path / "in").write_text("")
    (tmp_path / "secrets").mkdir()
    source = {"connector.class": "FileStreamSource", "topic": "t", "file": str(tmp_path / "in")}
    with Hardened(bootstrap, tmp_path) as worker:
        http = worker.http

        def put(config: dict[str, str], **more: Any) -> httpx.Response:
            return http.put("/connectors/one/config", json=config, **more)

        until(lambda: put(source).status_code in (200, 201), "the connector is created")
        for wrong, sentence in (
            ({**source, "file": "/etc/passwd"}, "is not in the folders of `penstock.paths.allowed`"),
            ({**source, "connector.class": "FileStreamSink", "topics": "t"}, "is denied by `penstock.plugins.denied`"),
            ({**source, "producer.override.acks": "1"}, "'None' policy does not allow 'acks'"),
            ({**source, "unknown": "x"}, "unknown"),
        ):
            answer = put(wrong)
            assert (answer.status_code, sentence in answer.text) == (400, True), answer.text
        assert put(source, auth=("victor", "right")).status_code == 403
        assert put(source, auth=("ada", "wrong")).status_code == 401
        assert http.get("/connectors", auth=("victor", "right")).json() == ["one"]
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{http.base_url}/connectors")  # another trust store does not know the authority
        assert put({**source, "x": "y" * 2**20}).status_code == 413
        audit = f"{worker.name}-audit"
        until(lambda: audit in kafka.admin.list_topics(timeout=900).topics, "the topic of the audit")
        until(lambda: {"victor", "ada"} <= {line["principal"] for line in lines(kafka, audit)}, "the lines of both")


def lines(kafka: Kafka, topic: str) -> list[dict[str, Any]]:
    return [json.loads(value or b"{}") for value in kafka.values(topic)]
