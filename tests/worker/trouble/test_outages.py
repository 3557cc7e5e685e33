"""A worker whose broker is away stays, logs that, and continues when the broker is back."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from penstock.embedded import Broker
from penstock.embedded.ports import ports
from support.kafka.client import Kafka
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = pytest.mark.integration

PATIENCE = 900.0


def health(worker: WorkerProcess) -> tuple[int, str]:
    answer = worker.http.get("/health")
    return answer.status_code, answer.json()["message"]


def seen(path: Path) -> list[str]:
    """Return the lines in the order of their first occurrence: a sink without contact to its group repeats some."""
    return list(dict.fromkeys(path.read_text().split())) if path.exists() else []


def test_a_worker_outlives_its_broker(tmp_path: Path) -> None:
    port, _ = ports(0)
    given, taken = tmp_path / "in.txt", tmp_path / "out.txt"
    given.write_text("one\n")

    def add(line: str) -> None:
        with given.open("a") as file:
            file.write(f"{line}\n")

    broker = Broker(tmp_path / "broker", port)
    settings = {
        "session.timeout.ms": "6000",
        "heartbeat.interval.ms": "1000",
        # A sink's task that cannot leave its group when it is stopped delays its successor for this time; 45 s by
        # default.
        "consumer.session.timeout.ms": "6000",
    }
    with ExitStack() as stack:
        worker = WorkerProcess(f"127.0.0.1:{port}", tmp_path, **settings).start()
        stack.push(worker)
        # It starts before its broker.
        until(lambda: "Connection refused. Retrying automatically." in health(worker)[1], "what it waits for", PATIENCE)
        assert health(worker)[0] == 503
        broker.start()
        try:
            until(lambda: health(worker)[0] == 200, "that it is ready", PATIENCE)
            worker.put("in", connector__class="FileStreamSource", file=str(given), topic="t")
            worker.put("out", connector__class="FileStreamSink", file=str(taken), topics="t")
            until(lambda: seen(taken) == ["one"], "the first line", PATIENCE)

            # It hangs for a while.
            assert broker.pid is not None
            os.killpg(broker.pid, signal.SIGSTOP)
            try:
                add("two")
                until(lambda: health(worker)[0] == 500, "that it is told", PATIENCE)
                expected = f"can't be reached by way of bootstrap.servers=127.0.0.1:{port}."
                assert health(worker)[1].endswith(expected)
            finally:
                os.killpg(broker.pid, signal.SIGCONT)
            until(lambda: health(worker)[0] == 200, "that it has found its group again", PATIENCE)
            until(lambda: seen(taken) == ["one", "two"], "the second line", PATIENCE)

            # The broker is stopped and started again.
            broker.stop()
            add("three")
            until(lambda: health(worker)[0] == 500, "that it is told again", PATIENCE)
            broker.start()
            until(lambda: seen(taken) == ["one", "two", "three"], "the third line", PATIENCE)
            worker.running("in")
            worker.running("out")
            # A sink reads what is not committed yet.
            kafka = Kafka(broker.bootstrap)
            until(lambda: b"three" in kafka.values("t"), "the commit of the third line", PATIENCE)
            assert kafka.values("t") == [b"one", b"two", b"three"]
            ready = (200, "Worker has completed startup and is ready to handle requests.")
            until(lambda: health(worker) == ready, "that it can write to all its topics again", PATIENCE)
        finally:
            broker.stop()
