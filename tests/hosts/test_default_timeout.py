"""A plugin's ``socket.setdefaulttimeout`` applies to its own connections, not to those between Penstock's processes."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.hosts.jvm import process as jvm
from penstock.hosts.python.process import PluginProcess
from penstock.spark import supervisor


class Started(Exception):
    """Raised instead of starting a process."""


@pytest.fixture(autouse=True)
def _a_default_timeout() -> Iterator[None]:
    socket.setdefaulttimeout(5)
    yield
    socket.setdefaulttimeout(None)


@pytest.fixture
def blocking(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Blocking flags of the descriptors passed to started processes."""
    found: list[bool] = []

    def start(command: Any, pass_fds: tuple[int, ...], **options: Any) -> Any:
        found.extend(map(os.get_blocking, pass_fds))
        raise Started

    monkeypatch.setattr(subprocess, "Popen", start)
    return found


def test_of_a_plugin_with_an_environment(blocking: list[bool], tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()
    with pytest.raises(Started):
        PluginProcess(tmp_path, "x")
    assert blocking == [True]


def test_of_sparks_driver(blocking: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    async def start() -> None:
        await supervisor.DriverSupervisor({}, lambda event: None)._once()

    monkeypatch.setattr(supervisor, "environment", lambda conf: {})
    with pytest.raises(Started):
        asyncio.run(start())
    assert blocking == [True]


def test_of_a_jvm() -> None:
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(f"{folder}/socket")
        listening.listen()
        connection = jvm._connected(Path(folder))
        assert connection is not None
        with connection:
            assert connection.gettimeout() is None
