"""Log records of a plugin's process, on their way to the worker."""

from __future__ import annotations

import logging
import os
from typing import Any

import pytest

from penstock.hosts.python.messages import FROM_PLUGIN, CallFromPlugin
from penstock.hosts.python.serving.contexts import RemoteMetrics
from penstock.hosts.python.serving.main import _Relay


class Peer:
    def __init__(self) -> None:
        self.told: list[Any] = []

    def tell(self, *args: Any, **options: Any) -> None:
        self.told.append(args)


def test_log_lines_of_forked_processes_go_to_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    peer: Any = Peer()
    relay = _Relay(peer)
    line = logging.LogRecord("of.plugin", logging.WARNING, "x.py", 1, "at work", (), None)
    relay.handle(line)
    monkeypatch.setattr(os, "getpid", lambda: 7)
    relay.handle(line)
    assert [line.text for (message,) in peer.told for line in message.lines] == ["at work"]
    assert "at work (of.plugin) [process 7]" in capsys.readouterr().err


def test_a_record_that_a_plugin_has_made_arrives() -> None:
    """An invalid message would end the connection, and the task with it."""
    peer: Any = Peer()
    made = logging.makeLogRecord({"msg": "made", "levelno": 20.0, "created": "1.5"})
    _Relay(peer).handle(made)
    ((message,),) = peer.told
    arrived = FROM_PLUGIN.decode(FROM_PLUGIN.encode(CallFromPlugin(message, None, "log")))
    (line,) = arrived.message.lines
    assert (line.logger, line.text, line.created) == ("None", "made", 1.5)


def test_a_metric_without_a_description_arrives() -> None:
    peer: Any = Peer()
    peer.call = peer.tell
    nothing: Any = None
    RemoteMetrics(peer).add("rows", nothing, lambda: 1.0)
    ((message,),) = peer.told
    assert FROM_PLUGIN.decode(FROM_PLUGIN.encode(CallFromPlugin(message, 1, "background"))).message == message
