"""What is logged in a plugin's process, on its way to the worker."""

from __future__ import annotations

import logging
import os
from typing import Any

import pytest

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
    assert [line.text for (line,) in peer.told] == ["at work"]
    assert "at work (of.plugin) [process 7]" in capsys.readouterr().err
