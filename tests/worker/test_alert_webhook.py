"""The webhook of real workers: what needs attention is posted once, by the leader, and the next leader goes on."""

from __future__ import annotations

import uuid
from pathlib import Path

import bcrypt
import pytest

from support.certificates import Authority
from support.kafka.client import Kafka
from support.waiting import until
from support.webhook import Receiver
from support.worker_process import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.security]

TOKEN, SECRET_PATH = "Zq81Lm33Tr90Xw52", "/services/T0Q8W7/B5N4M3/k9J2h8G4f6D1s3A5"
SINK = {"connector__class": "FileStreamSink"}


def test_the_group_tells_each_cause_once_also_after_its_leader_has_died(
    bootstrap: str, kafka: Kafka, tmp_path: Path
) -> None:
    authority = Authority.make()
    identity, ca = authority.identity("localhost"), tmp_path / "ca.pem"
    own = tmp_path / "own.pem"
    own.write_text(identity.key_pem() + identity.certificate_pem)
    ca.write_text(authority.certificate_pem)
    hashed = bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode()
    (tmp_path / "htpasswd").write_text(f"ada:{hashed}\n")
    (tmp_path / "secrets").write_text(f"token={TOKEN}\n")
    with Receiver(own) as receiver:
        settings = {
            "config.providers": "file",
            "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
            "penstock.authentication.htpasswd": str(tmp_path / "htpasswd"),
            "penstock.alert.webhook.url": receiver.url + SECRET_PATH,
            "penstock.alert.webhook.header": f"Authorization: Bearer ${{file:{tmp_path / 'secrets'}:token}}",
            "penstock.alert.webhook.ca": str(ca),
            "penstock.alert.settle.ms": "3000",
            "scheduled.rebalance.max.delay.ms": "1000",
        }
        first = WorkerProcess(bootstrap, tmp_path, **settings)
        second = WorkerProcess(bootstrap, tmp_path, **{**first.settings, **settings})
        workers = (first, second)
        try:
            for worker in workers:
                worker.http.auth = ("ada", "right")
                worker.start().ready()

            def together() -> bool:
                return len(first.get("/penstock/v1/workers")["workers"]) == 2

            until(together, "both workers are in the group")
            topic, folder = kafka.create_topic(partitions=1), tmp_path / "later"
            config = {"topics": topic, "file": str(folder / "out.txt")}
            first.put("broken", **SINK, **config)
            until(lambda: receiver.said("broken") == [("begin", "failed")], "the message about the failure")
            (begin,) = (each for each in receiver.accepted if each["connector"] == "broken")
            (row,) = (each for each in first.get("/penstock/v1/attention")["rows"] if each["connector"] == "broken")
            assert {name: begin[name] for name in row} == row
            assert receiver.headers[-1]["authorization"] == f"Bearer {TOKEN}"

            # Rows that only the worker knows that runs the connector: one of these is not the leader.
            for number in range(4):
                first.put(f"late-{number}", **SINK, topics=f"late-{uuid.uuid4().hex}", file=str(tmp_path / "x"))
            late = {("begin", "missing-topics")}
            until(lambda: all({*receiver.said(f"late-{n}")} == late for n in range(4)), "messages of both workers")
            places = {first.get(f"/connectors/late-{number}/status")["connector"]["worker_id"] for number in range(4)}
            assert len(places) == 2

            folder.mkdir()
            first.http.post("/connectors/broken/restart?includeTasks=true")
            until(lambda: ("end", "failed") in receiver.said("broken"), "the message about its end")

            # The receiver is down while the leader dies: the next leader sends what is missing.
            receiver.status = 503
            first.put("later", **SINK, topics=topic, file=str(tmp_path / "none" / "out.txt"))
            before = receiver.attempts
            until(lambda: receiver.attempts > before, "an attempt")
            leader = first.get("/penstock/v1/workers")["leader"]
            (lead, other) = workers if str(first.http.base_url).rstrip("/").endswith(leader) else (second, first)
            lead.kill()
            until(lambda: other.get("/penstock/v1/workers")["leader"] != leader, "another leader")
            receiver.status = 200
            until(lambda: receiver.said("later") == [("begin", "failed")], "the message, by the other worker")
            other.http.delete("/connectors/later")
            until(lambda: ("end", "failed") in receiver.said("later"), "the end, by the other worker")

            received = [(each["id"], each["event"]) for each in receiver.accepted]
            assert len(received) == len(set(received)), "no message was accepted twice"
            assert receiver.said("broken") == [("begin", "failed"), ("end", "failed")]
            for number in range(4):
                assert receiver.said(f"late-{number}").count(("begin", "missing-topics")) == 1
        finally:
            for worker in workers:
                if worker.process is not None and worker.process.poll() is None:
                    worker.stop()
                worker.http.close()
        for worker in workers:
            logged = worker.log.read_text()
            assert TOKEN not in logged
            assert SECRET_PATH not in logged


def test_a_failure_that_is_restarted_at_once_is_told_and_a_redirect_is_not_followed(
    bootstrap: str, kafka: Kafka, tmp_path: Path
) -> None:
    with Receiver(status=307) as receiver:
        settings = {"penstock.alert.webhook.url": receiver.url, "penstock.alert.settle.ms": "1000"}
        with WorkerProcess(bootstrap, tmp_path, **settings) as worker:
            topic, folder = kafka.create_topic(partitions=1), tmp_path / "later"
            worker.put("quick", **SINK, topics=topic, file=str(folder / "out.txt"))
            until(lambda: "FAILED" in worker.http.get("/connectors/quick/status").text, "the failure")
            folder.mkdir()
            worker.http.post("/connectors/quick/restart?includeTasks=true")
            worker.running("quick")
            until(lambda: receiver.attempts >= 2, "attempts that are redirected")
            assert "redirects are not followed" in worker.log.read_text()
            receiver.status = 200
            until(lambda: receiver.said("quick") == [("begin", "failed"), ("end", "failed")], "both messages")
