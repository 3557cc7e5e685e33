"""A task that connects to a worker whose end of the channel is spoken by hand."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock.spark.channel import LIMIT, TaskChannel, nonce, proof, proves
from penstock.spark.messages.task import (
    ADMISSIONS,
    FROM_TASK,
    FROM_WORKER,
    PRESENTATIONS,
    Admission,
    AdmissionAnswer,
    AdmittedTask,
    Challenge,
    Presentation,
    TaskIdentity,
    TaskMessage,
    WorkerMessage,
)
from penstock.spark.tls import identity
from penstock.wire.framing import FrameDecoder, frame
from support.spark.host import make_spec

KEY = "ab" * 32
WHO = TaskIdentity("c", 0, 1)
ADMITTED = AdmittedTask(make_spec(), 1.0)


class Worker:
    """The worker's end, spoken by hand."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket, self.frames = connection, FrameDecoder(LIMIT)
        self.bodies: list[bytes] = []

    def receive(self) -> TaskMessage:
        return FROM_TASK.decode(self._body())

    def presented(self) -> Presentation:
        return PRESENTATIONS.decode(self._body())

    def _body(self) -> bytes:
        while not self.bodies:
            data = self.socket.recv(4096)
            assert data, "the task closed the connection"
            self.bodies += self.frames.feed(data)
        return self.bodies.pop(0)

    def send(self, message: WorkerMessage) -> None:
        self.socket.sendall(frame(FROM_WORKER.encode(message)))

    def answer(self, message: AdmissionAnswer) -> None:
        self.socket.sendall(frame(ADMISSIONS.encode(message)))

    def admit(self, key: str = KEY) -> Presentation:
        challenge = nonce()
        self.answer(Challenge(challenge))
        said = self.presented()
        assert proves(said.proof, proof(KEY, "task", challenge, said.nonce, said.identity))
        self.answer(Admission(proof(key, "worker", said.nonce, challenge, said.identity), ADMITTED))
        return said


@contextmanager
def meeting(**admission: Any) -> Iterator[tuple[Worker, queue.Queue[Any]]]:
    """Connect a task to a worker; the queue gets the outcome."""
    outcome: queue.Queue[Any] = queue.Queue()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def connect() -> None:
            try:
                own = identity().fingerprint
                outcome.put(TaskChannel.connect(server.getsockname(), own, KEY, WHO, timeout=900.0))
            except Exception as error:
                outcome.put(error)

        thread = threading.Thread(target=connect)
        thread.start()
        with identity().context.wrap_socket(server.accept()[0], server_side=True) as connection:
            yield Worker(connection), outcome
        thread.join()
