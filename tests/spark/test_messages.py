"""The modules of the protocols: each lists its messages, and says of each what it means."""

from __future__ import annotations

import asyncio
import inspect
import os
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from penstock.core.model.tasks import SparkDied
from penstock.preview import messages as preview
from penstock.spark import supervisor
from penstock.spark.channel import LIMIT
from penstock.spark.messages import driver, task
from penstock.spark.messages.driver import EVENTS, DriverEnding
from penstock.spark.supervisor import DriverSupervisor
from penstock.wire.framing import FrameDecoder, frame
from penstock.wire.messages import Message, MessageCodec

MODULES = (driver, task, preview)


def members(module: ModuleType, kind: Any) -> list[Any]:
    return [each for each in vars(module).values() if kind(each)]


def is_message(found: object) -> bool:
    return inspect.isclass(found) and issubclass(found, Message) and found is not Message


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_message_is_documented_and_belongs_to_a_protocol(module: ModuleType) -> None:
    own = {each for each in members(module, is_message) if each.__module__ == module.__name__}
    codecs: list[MessageCodec[Any]] = members(module, lambda found: isinstance(found, MessageCodec))
    assert own
    assert own == {each for codec in codecs for each in codec.classes if issubclass(each, Message)}
    assert [each for each in own if not each.__doc__] == []
    assert [each.__name__ for each in own if f"``{each.__name__}``" not in str(module.__doc__)] == []


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_no_two_messages_of_a_protocol_have_the_same_name(module: ModuleType) -> None:
    for codec in members(module, lambda found: isinstance(found, MessageCodec)):
        tags = [each.__struct_config__.tag for each in codec.classes]
        assert len(tags) == len(set(tags))


def test_a_driver_that_does_not_know_a_command_ends_and_names_it() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            command = [sys.executable, "-m", "penstock.spark.driver", str(theirs.fileno()), str(os.getpid()), "hosted"]
            process = subprocess.Popen(command, pass_fds=(theirs.fileno(),))
        ours.sendall(frame(b'{"type":"SubmitTusk","group":"g"}'))
        frames = FrameDecoder(LIMIT)
        events = [EVENTS.decode(body) for data in iter(lambda: ours.recv(1 << 16), b"") for body in frames.feed(data)]
        assert process.wait() == 0
    reason = (
        "The worker has sent an invalid message: the protocol of Spark's driver (commands) has no message 'SubmitTusk'."
    )
    assert events == [DriverEnding(reason)]


def test_a_driver_that_sends_an_unknown_event_is_started_again_and_the_event_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = b'{"type":"SparkStrated"}'
    program = tmp_path / "driver"
    program.write_text(f"""#!{sys.executable}
import socket, sys, time
connection = socket.socket(fileno=int(sys.argv[3]))
connection.sendall({frame(body)!r})
time.sleep(600)
""")
    program.chmod(0o700)
    monkeypatch.setattr(supervisor, "sys", SimpleNamespace(executable=str(program)))
    monkeypatch.setattr(supervisor, "environment", lambda conf: dict(os.environ))

    async def story() -> Any:
        died = asyncio.get_running_loop().create_future()
        driver = DriverSupervisor({"spark.master": "local[1]"}, died.set_result)
        keeping = asyncio.create_task(driver.keep())
        event = await died
        keeping.cancel()
        return event

    named = "Spark's driver has sent an invalid message: the protocol of Spark's driver (events) has no message "
    assert asyncio.run(story()) == SparkDied(f"{named}'SparkStrated'.")
