"""A task that connects to a worker whose end of the channel is spoken by hand."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock.spark.channel import Message, MessageDecoder, TaskChannel, encode, nonce, proof, proves
from penstock.spark.tls import identity

KEY = "ab" * 32
WHO = {"connector": "c", "task": 0, "run": 1}


class Worker:
    """The worker's end, spoken by hand."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket, self.frames = connection, MessageDecoder()
        self.messages: list[Message] = []

    def receive(self) -> Message:
        while not self.messages:
            data = self.socket.recv(4096)
            assert data, "the task closed the connection"
            self.messages += self.frames.feed(data)
        return self.messages.pop(0)

    def send(self, message: Message) -> None:
        self.socket.sendall(encode(message))

    def admit(self, key: str = KEY) -> Message:
        challenge = nonce()
        self.send({"challenge": challenge})
        said = self.receive()
        assert proves(said["proof"], proof(KEY, "task", challenge, said["nonce"], said["who"]))
        self.send({"admitted": {"lease": 1.0}, "proof": proof(key, "worker", said["nonce"], challenge, said["who"])})
        return said


@contextmanager
def meeting(**admission: Any) -> Iterator[tuple[Worker, queue.Queue[Any]]]:
    """A task that connects; the queue holds what came of it."""
    outcome: queue.Queue[Any] = queue.Queue()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def connect() -> None:
            try:
                own = identity().fingerprint
                outcome.put(TaskChannel.connect(server.getsockname(), own, KEY, WHO, timeout=60.0))
            except Exception as error:
                outcome.put(error)

        thread = threading.Thread(target=connect)
        thread.start()
        with identity().context.wrap_socket(server.accept()[0], server_side=True) as connection:
            yield Worker(connection), outcome
        thread.join()
