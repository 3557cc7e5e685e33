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

from penstock.spark.channel import (
    MessageDecoder,
    RefusedError,
    TaskChannel,
    beat_after,
    encode,
    nonce,
    proof,
    proves,
)
from penstock.spark.tls import identity
from support.spark.meeting import KEY, WHO, meeting


def test_messages_are_put_together_from_pieces() -> None:
    data = encode({"say": "a", "text": "ä" * 1000}) + encode({"say": "b"})
    frames = MessageDecoder()
    got = [message for i in range(0, len(data), 7) for message in frames.feed(data[i : i + 7])]
    assert got == [{"say": "a", "text": "ä" * 1000}, {"say": "b"}]


def test_halves_of_surrogate_pairs_arrive() -> None:
    """A failure's trace may have one: the name of a file that is no UTF-8."""
    said = {"say": "failed", "trace": "No such file: '/data/\udcff'"}
    assert list(MessageDecoder().feed(encode(said))) == [said]


@pytest.mark.parametrize("body", [b"[1]", b"{", b"\x80\x04K\x01."])
def test_what_is_no_message_breaks_the_connection(body: bytes) -> None:
    with pytest.raises(ConnectionError, match="not a message"):
        list(MessageDecoder().feed(len(body).to_bytes(4, "big") + body))


def test_a_message_beyond_the_limit_is_not_waited_for() -> None:
    with pytest.raises(ConnectionError, match="5 bytes is announced, the limit is 4"):
        list(MessageDecoder(limit=4).feed(b"\0\0\0\5"))


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
    assert not proves(None, said)


@pytest.mark.parametrize("every", [1.5, 0.1])
def test_heartbeats_of_several_tasks_are_due_together(every: float) -> None:
    due = {now: beat_after(now, every) for now in (1000 + i * every / 100 for i in range(100))}
    assert all(every * 0.8 < beat - now < every * 1.001 for now, beat in due.items())
    assert len({round(beat, 6) for beat in due.values()}) <= 7


def test_an_admitted_task_gets_its_answer() -> None:
    with meeting() as (worker, outcome):
        said = worker.admit()
        channel, admitted = outcome.get(timeout=60)
        assert admitted == {"lease": 1.0}
        channel.send({"say": "running"})
        assert worker.receive() == {"say": "running"}
        assert said["who"] == '{"connector":"c","task":0,"run":1}'
        channel._socket.close()


def test_a_worker_may_ask_again_before_it_admits_a_task() -> None:
    with meeting() as (worker, outcome):
        worker.send({"challenge": nonce()})
        first = worker.receive()
        second = worker.admit()
        channel, admitted = outcome.get(timeout=60)
        assert admitted == {"lease": 1.0}
        assert first["who"] == second["who"]
        assert first["nonce"] != second["nonce"]
        channel._socket.close()


def test_an_admission_without_a_challenge_is_refused() -> None:
    with meeting() as (worker, outcome):
        worker.send({"admitted": {"lease": 1.0}, "proof": ""})
        assert isinstance(outcome.get(timeout=60), RefusedError)


def test_a_worker_that_does_not_know_the_key_is_not_believed() -> None:
    with meeting() as (worker, outcome):
        worker.admit(key="cd" * 32)
        refused = outcome.get(timeout=60)
        assert isinstance(refused, RefusedError)
        assert "does not know its key" in str(refused)


def test_a_refusal_says_why() -> None:
    with meeting() as (worker, outcome):
        worker.send({"challenge": nonce()})
        worker.receive()
        worker.send({"refused": "run 1 is over"})
        assert str(outcome.get(timeout=60)) == "run 1 is over"


def test_a_worker_with_another_certificate_gets_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def other() -> None:
            with suppress(OSError), identity().context.wrap_socket(server.accept()[0], server_side=True) as connection:
                heard.append(connection.recv(100))

        heard: list[bytes] = []
        thread = threading.Thread(target=other)
        thread.start()
        with pytest.raises(ConnectionError, match="another certificate"):
            TaskChannel.connect(server.getsockname(), "00" * 32, KEY, WHO, timeout=60.0)
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


def test_heartbeats_that_come_back_keep_the_lease() -> None:
    with meeting() as (worker, outcome):
        worker.admit()
        channel, _ = outcome.get(timeout=60)
        happened = attended(channel, lease=5.0)
        for _ in range(4):
            worker.send(worker.receive())
        worker.send({"say": "pause"})
        assert happened.get(timeout=60) == {"say": "pause"}


def test_a_task_that_hears_nothing_leaves_before_its_lease_is_over() -> None:
    with meeting() as (worker, outcome):
        worker.admit()
        channel, _ = outcome.get(timeout=60)
        happened = attended(channel, lease=5.0)
        assert channel.holds(60.0)
        assert happened.get(timeout=60) == "leave"
        assert not channel.holds(5.0)
        # A worker that was frozen reads it when it runs again.
        while (said := worker.receive())["say"] == "beat":
            pass
        assert said["say"] == "lost"
        assert said["reason"].startswith("No heartbeat of the worker for ")
        assert happened.get(timeout=60) == "end"


def test_a_task_whose_worker_is_gone_leaves_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("penstock.spark.channel.time", SimpleNamespace(monotonic=time.monotonic, sleep=slept.append))
    with meeting() as (worker, outcome):
        worker.admit()
        channel, _ = outcome.get(timeout=60)
        happened = attended(channel, lease=600.0)
        worker.socket.shutdown(socket.SHUT_RDWR)
        # Who hears nothing leaves after six minutes.
        assert [happened.get(timeout=60), happened.get(timeout=60)] == ["leave", "end"]
        [until_the_end] = slept
        assert 360 < until_the_end <= 540


def test_a_task_that_has_hung_up_hears_its_worker_out() -> None:
    happened: queue.Queue[Any] = queue.Queue()
    with meeting() as (worker, outcome):
        worker.admit()
        channel, _ = outcome.get(timeout=60)

        def attend() -> None:
            with suppress(SystemExit):
                channel.attend(happened.put, sys.exit, sys.exit, 60.0)

        thread = threading.Thread(target=attend)
        thread.start()
        channel.send({"say": "done"})
        channel.close()
        while (said := worker.receive())["say"] == "beat":
            pass
        assert said == {"say": "done"}
        worker.send({"say": "pause"})
        assert happened.get(timeout=60) == {"say": "pause"}
        worker.socket.shutdown(socket.SHUT_RDWR)
        thread.join()
        assert channel._socket.fileno() == -1


def test_a_process_of_many_tasks_may_have_many_descriptors() -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limits[0], 2000), limits[1]))
    try:
        with meeting() as (worker, outcome):
            worker.admit()
            channel, _ = outcome.get(timeout=60)
            high = fcntl.fcntl(channel._socket.fileno(), fcntl.F_DUPFD_CLOEXEC, 1500)
            channel._socket._socket = socket.socket(fileno=high)
            happened = attended(channel, lease=5.0)
            worker.send(worker.receive())
            worker.send({"say": "pause"})
            assert happened.get(timeout=60) == {"say": "pause"}
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
