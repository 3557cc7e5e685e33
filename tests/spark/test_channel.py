from __future__ import annotations

import fcntl
import queue
import resource
import socket
import sys
import threading
import time
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.core.model.tasks import ReportedOffset
from penstock.pipeline.task import CommittedOffset
from penstock.spark.channel import (
    RefusedError,
    TaskChannel,
    beat_after,
    nonce,
    proof,
    proves,
)
from penstock.spark.messages.task import (
    FROM_TASK,
    FROM_WORKER,
    Admission,
    Challenge,
    CommittedOffsetsReply,
    DoneReport,
    FailedReport,
    LostReport,
    MetricsReport,
    OffsetsReport,
    PauseCommand,
    Refusal,
    RunningReport,
    TaskHeartbeat,
    TaskReport,
    WorkerMessage,
)
from penstock.spark.tls import identity
from support.spark.meeting import ADMITTED, KEY, WHO, Worker, meeting


@pytest.mark.parametrize(
    "report",
    [
        FailedReport("No such file: '/data/\udcff'"),  # the name of a file that is not UTF-8
        OffsetsReport(
            (
                ReportedOffset({"file": "\udcff"}, {"line": 2**63}, {"inode": 2**63}),
                ReportedOffset(None, {"double": 1e300}),
                ReportedOffset({"a": [1, None]}, None),
            )
        ),
        MetricsReport({"source-record-poll-total": 1.0, "penstock-places": [{"tags": {"x": None}}]}),
    ],
    ids=lambda report: type(report).__name__,
)
def test_values_of_plugins_arrive_unchanged(report: TaskReport) -> None:
    assert FROM_TASK.decode(FROM_TASK.encode(report)) == report


def test_committed_offsets_arrive_unchanged() -> None:
    reply: WorkerMessage = CommittedOffsetsReply(
        (CommittedOffset({"file": "a"}, {"line": 2**63}, "a2V5", {"inode": 2**63}), CommittedOffset(None, {}))
    )
    assert FROM_WORKER.decode(FROM_WORKER.encode(reply)) == reply


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that a task waits before its end, which it does not do here."""
    slept: list[float] = []
    monkeypatch.setattr("penstock.spark.channel.time", SimpleNamespace(monotonic=time.monotonic, sleep=slept.append))
    return slept


@pytest.mark.parametrize("body", [b"[1]", b"{", b"\x80\x04K\x01."])
def test_what_is_no_message_breaks_the_connection(body: bytes) -> None:
    with pytest.raises(ConnectionError, match="not a message of the task channel"):
        FROM_TASK.decode(body)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"type":"Pause"}', "the task channel (worker to task) has no message 'Pause'"),
        (
            b'{"type":"LogLevelCommand","name":"x"}',
            "invalid message LogLevelCommand of the task channel (worker to task)",
        ),
    ],
)
def test_a_message_of_another_version_ends_the_task_and_is_named(
    body: bytes, said: str, caplog: pytest.LogCaptureFixture, slept: list[float]
) -> None:
    with meeting() as (worker, outcome):
        worker.admit()
        channel, _ = outcome.get(timeout=900)
        happened = attended(channel, lease=5.0)
        worker.socket.sendall(len(body).to_bytes(4, "big") + body)
        assert happened.get(timeout=900) == "leave"
        assert happened.get(timeout=900) == "end"
    assert said in caplog.text


def test_a_proof_is_for_one_key_one_side_and_one_meeting() -> None:
    said = proof(KEY, "task", "theirs", "ours", "{}")
    assert proves(said, proof(KEY, "task", "theirs", "ours", "{}"))
    others = [
        proof("cd" * 32, "task", "theirs", "ours", "{}"),
        proof(KEY, "worker", "theirs", "ours", "{}"),
        proof(KEY, "task", "others", "ours", "{}"),
        proof(KEY, "task", "theirs", "ours", '{"run":2}'),
    ]
    assert not any(proves(said, other) for other in others)
    assert not proves("\udcff", said)


@pytest.mark.parametrize("every", [1.5, 0.1])
def test_heartbeats_of_several_tasks_are_due_together(every: float) -> None:
    due = {now: beat_after(now, every) for now in (1000 + i * every / 100 for i in range(100))}
    assert all(every * 0.8 < beat - now < every * 1.001 for now, beat in due.items())
    assert len({round(beat, 6) for beat in due.values()}) <= 7


def test_an_admitted_task_gets_its_answer() -> None:
    with meeting() as (worker, outcome):
        said = worker.admit()
        channel, admitted = outcome.get(timeout=900)
        assert admitted == ADMITTED
        channel.send(RunningReport())
        assert worker.receive() == RunningReport()
        assert said.identity == '{"connector":"c","task":0,"run":1}'
        channel._socket.close()


def test_a_worker_may_ask_again_before_it_admits_a_task() -> None:
    with meeting() as (worker, outcome):
        worker.answer(Challenge(nonce()))
        first = worker.presented()
        second = worker.admit()
        channel, admitted = outcome.get(timeout=900)
        assert admitted == ADMITTED
        assert first.identity == second.identity
        assert first.nonce != second.nonce
        channel._socket.close()


def test_an_admission_without_a_challenge_is_refused() -> None:
    with meeting() as (worker, outcome):
        worker.answer(Admission("", ADMITTED))
        assert isinstance(outcome.get(timeout=900), RefusedError)


def test_a_worker_that_does_not_know_the_key_is_not_believed() -> None:
    with meeting() as (worker, outcome):
        worker.admit(key="cd" * 32)
        refused = outcome.get(timeout=900)
        assert isinstance(refused, RefusedError)
        assert "does not know its key" in str(refused)


def test_a_refusal_says_why() -> None:
    with meeting() as (worker, outcome):
        worker.answer(Challenge(nonce()))
        worker.presented()
        worker.answer(Refusal("run 1 is over"))
        assert str(outcome.get(timeout=900)) == "run 1 is over"


def test_a_worker_with_another_certificate_gets_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def other() -> None:
            with suppress(OSError), identity().context.wrap_socket(server.accept()[0], server_side=True) as connection:
                heard.append(connection.recv(100))

        heard: list[bytes] = []
        thread = threading.Thread(target=other)
        thread.start()
        with pytest.raises(ConnectionError, match="another certificate"):
            TaskChannel.connect(server.getsockname(), "00" * 32, KEY, WHO, timeout=900.0)
        thread.join()
        assert not any(heard)


class Exit(BaseException):
    """Instead of the end of the process."""


def attended(channel: TaskChannel, lease: float) -> queue.Queue[Any]:
    """Attend to the channel in a thread; what happens is put on the queue."""
    happened: queue.Queue[Any] = queue.Queue()

    def end() -> None:
        happened.put("end")
        raise Exit

    def attend() -> None:
        try:
            channel.attend(happened.put, lambda: happened.put("leave"), end, lease)
        except Exit:
            channel._socket.close()

    threading.Thread(target=attend, daemon=True).start()
    return happened


def heartbeat(worker: Worker) -> TaskHeartbeat:
    said = worker.receive()
    assert isinstance(said, TaskHeartbeat)
    return said


def test_heartbeats_that_come_back_keep_the_lease() -> None:
    with meeting() as (worker, outcome):
        worker.admit()
        channel, _ = outcome.get(timeout=900)
        happened = attended(channel, lease=5.0)
        for _ in range(4):
            worker.send(heartbeat(worker))
        worker.send(PauseCommand())
        assert happened.get(timeout=900) == PauseCommand()


def test_a_task_that_hears_nothing_leaves_before_its_lease_is_over() -> None:
    with meeting() as (worker, outcome):
        worker.admit()
        channel, _ = outcome.get(timeout=900)
        happened = attended(channel, lease=2.0)
        assert channel.holds(60.0)
        assert happened.get(timeout=900) == "leave"
        assert not channel.holds(2.0)
        # A worker that was frozen reads it when it runs again.
        while isinstance(said := worker.receive(), TaskHeartbeat):
            pass
        assert isinstance(said, LostReport)
        assert said.reason.startswith("No heartbeat of the worker for ")
        assert happened.get(timeout=900) == "end"


def test_a_task_whose_worker_is_gone_leaves_at_once(slept: list[float]) -> None:
    with meeting() as (worker, outcome):
        worker.admit()
        channel, _ = outcome.get(timeout=900)
        happened = attended(channel, lease=600.0)
        worker.socket.shutdown(socket.SHUT_RDWR)
        # A side that receives nothing leaves after six minutes.
        assert [happened.get(timeout=900), happened.get(timeout=900)] == ["leave", "end"]
        [until_the_end] = slept
        assert 360 < until_the_end <= 540


def test_a_task_that_has_hung_up_hears_its_worker_out() -> None:
    happened: queue.Queue[Any] = queue.Queue()
    with meeting() as (worker, outcome):
        worker.admit()
        channel, _ = outcome.get(timeout=900)

        def attend() -> None:
            with suppress(SystemExit):
                channel.attend(happened.put, sys.exit, sys.exit, 60.0)

        thread = threading.Thread(target=attend)
        thread.start()
        channel.send(DoneReport())
        channel.close()
        while isinstance(said := worker.receive(), TaskHeartbeat):
            pass
        assert said == DoneReport()
        worker.send(PauseCommand())
        assert happened.get(timeout=900) == PauseCommand()
        worker.socket.shutdown(socket.SHUT_RDWR)
        thread.join()
        assert channel._socket.fileno() == -1


def test_a_process_of_many_tasks_may_have_many_descriptors() -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limits[0], 2000), limits[1]))
    try:
        with meeting() as (worker, outcome):
            worker.admit()
            channel, _ = outcome.get(timeout=900)
            high = fcntl.fcntl(channel._socket.fileno(), fcntl.F_DUPFD_CLOEXEC, 1500)
            channel._socket._socket = socket.socket(fileno=high)
            happened = attended(channel, lease=5.0)
            worker.send(heartbeat(worker))
            worker.send(PauseCommand())
            assert happened.get(timeout=900) == PauseCommand()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
