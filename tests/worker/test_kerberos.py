"""A worker and its tasks on a broker where users log in with Kerberos, with a real key distribution center."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.kafka.kerberos import (
    MODULE,
    REALM,
    KerberosBroker,
    Realm,
    kerberos_broker,
    login,
    missing,
    python_path,
    realm,
)
from support.waiting import until
from support.worker_process import PLAIN, WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

CONNECT = f"connect/worker.example.com@{REALM}"
CLIENTS = ("", "producer.", "consumer.", "admin.")
MADE = """
import json, sys
from penstock.kafka.clients import new_admin
for settings in sys.argv[1:]:
    new_admin(json.loads(settings))
    print("made")
"""
RENEWED = """
import json, sys, time
from penstock.kafka.clients import new_admin
settings, seconds = json.loads(sys.argv[1]), float(sys.argv[2])
for pause in (0, 0, seconds):
    time.sleep(pause)
    print(len(new_admin(settings).list_topics(timeout=20).brokers))
"""


@pytest.fixture(scope="module")
def kdc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    if reason := missing():
        pytest.skip(f"no key distribution center can be started: {reason}")
    packages = python_path()
    if packages is None:
        pytest.skip(
            "confluent-kafka with GSSAPI and gssapi are not installed: docs/security.md describes how to build them"
        )
    with realm(tmp_path_factory.mktemp("realm")) as made, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", packages)
        patch.setenv("KRB5_CONFIG", str(made.krb5_conf))
        patch.setenv("JAVA_TOOL_OPTIONS", f"-Djava.security.krb5.conf={made.krb5_conf}")
        yield made


@pytest.fixture(scope="module")
def kafka(kdc: Realm) -> Iterator[KerberosBroker]:
    with kerberos_broker(kdc, os.environ) as broker:
        yield broker


@pytest.fixture(scope="module")
def keytab(kdc: Realm) -> Path:
    """The first of its keys is another principal's."""
    return kdc.keytab(f"other@{REALM}", CONNECT)


@pytest.fixture(scope="module")
def worker(
    kafka: KerberosBroker, kdc: Realm, keytab: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    settings = {key: value for each in CLIENTS for key, value in login(kafka.kerberos, keytab, CONNECT, each).items()}
    with WorkerProcess(kafka.kerberos, tmp_path_factory.mktemp("worker"), **PLAIN, **settings) as process:
        yield process


def test_records_of_a_source_and_of_sinks(
    worker: WorkerProcess, kafka: KerberosBroker, kdc: Realm, tmp_path: Path
) -> None:
    """The group, the internal topics, a transactional producer, a consumer, and Spark's own clients log in."""
    (tmp_path / "in").write_text("one\ntwo\n")
    topic = f"topic-{uuid.uuid4().hex[:8]}"
    source = {"connector.class": "FileStreamSource", "file": str(tmp_path / "in"), "topic": topic}
    worker.put(f"{topic}-source", **source)
    worker.put(f"{topic}-file", **{"connector.class": "FileStreamSink", "file": str(tmp_path / "out"), "topics": topic})
    spark = {"connector.class": "penstock.connectors.SparkSink", "format": "text", "path": str(tmp_path / "rows")}
    worker.put(f"{topic}-spark", **spark, topics=topic)
    out = tmp_path / "out"
    until(lambda: out.exists() and out.read_text() == "one\ntwo\n", "the lines are in the file")
    until(lambda: _text(tmp_path / "rows") == ["one", "two"], "the lines are where Spark writes")
    assert f"{CONNECT} for kafka/localhost@{REALM}" in kdc.log
    assert f"other@{REALM} for" not in kdc.log  # though its key is the first in the file


def _text(folder: Path) -> list[str]:
    return sorted(line for file in folder.glob("*.txt") for line in file.read_text().splitlines())


def test_a_second_principal_in_a_process_is_refused(kafka: KerberosBroker, keytab: Path) -> None:
    """librdkafka would log in as the first one, whatever the settings say."""
    first, second = (login(kafka.kerberos, keytab, principal) for principal in (CONNECT, f"other@{REALM}"))
    command = [sys.executable, "-c", MADE, json.dumps(first), json.dumps(second)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert f"This process is logged in as {CONNECT}, and can't be other@{REALM} as well" in done.stderr
    assert done.stdout == "made\n"


@pytest.mark.parametrize(("life", "renewed"), [("10 hours", False), ("4 seconds", True)])
def test_tickets_are_renewed_after_half_of_their_life(
    kafka: KerberosBroker, kdc: Realm, life: str, renewed: bool
) -> None:
    principal = f"connect/for-{life.replace(' ', '-')}@{REALM}"
    settings = login(kafka.kerberos, kdc.keytab(principal), principal)
    kdc.run("kadmin.local", "-q", f'modprinc -maxlife "{life}" {principal}')
    command = [sys.executable, "-c", RENEWED, json.dumps(settings), "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("1\n1\n1\n", 0), done.stderr
    logins = set(re.findall(rf"ISSUE: authtime (\d+), .*, {principal} for krbtgt", kdc.log))
    assert (len(logins) > 1) is renewed


@pytest.mark.parametrize(
    ("principal", "keytab_of", "problem"),
    [
        ("absent", None, "keyTab=/no/such.keytab can't be read: No such file or directory"),
        ("stranger", "somebody", "Kerberos login of stranger@PENSTOCK.TEST failed: "),
    ],
)
def test_why_a_login_fails(
    kafka: KerberosBroker, kdc: Realm, principal: str, keytab_of: str | None, problem: str
) -> None:
    keytab = kdc.keytab(f"{keytab_of}@{REALM}") if keytab_of else Path("/no/such.keytab")
    settings = login(kafka.kerberos, keytab, f"{principal}@{REALM}")
    done = subprocess.run([sys.executable, "-c", MADE, json.dumps(settings)], capture_output=True, text=True)
    assert problem in done.stderr


def test_tickets_of_a_cache(kafka: KerberosBroker, kdc: Realm, tmp_path: Path) -> None:
    """Another program has logged in; this process has no key."""
    principal, cache = f"connect/of-a-cache@{REALM}", tmp_path / "tickets"
    kdc.run("kinit", "-c", str(cache), "-k", "-t", str(kdc.keytab(principal)), principal)
    settings = login(kafka.kerberos, tmp_path, principal)
    options = f'useTicketCache=true ticketCache="{cache}" principal="{principal}"'
    settings["sasl.jaas.config"] = f"{MODULE} required {options};"
    command = [sys.executable, "-c", RENEWED, json.dumps(settings), "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("1\n1\n1\n", 0), done.stderr
