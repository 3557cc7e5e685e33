"""A driver of Spark that can't be started."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.core.model.tasks import SparkDied
from penstock.spark import supervisor
from penstock.spark.java import spark_java
from penstock.spark.settings import HostSettings
from penstock.spark.supervisor import DriverSupervisor


@pytest.fixture
def java_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A JAVA_HOME without a Java."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    spark_java.cache_clear()
    yield tmp_path
    spark_java.cache_clear()


def test_a_java_that_is_missing_is_logged_once_and_told_after_each_try(
    java_home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> list[Any]:
        events = asyncio.Queue[Any]()
        driver = DriverSupervisor(HostSettings(spark={"spark.master": "local[1]"}).conf(), events.put_nowait)
        keeping = asyncio.create_task(driver.keep())
        found = [await events.get() for _ in range(3)]
        state = driver.state
        keeping.cancel()
        return [*found, state]

    *died, state = asyncio.run(story())
    reason = f"Spark's driver can't be started: JAVA_HOME is {java_home}, but {java_home}/bin/java does not run: "
    assert {type(event) for event in died} == {SparkDied}
    assert len({event.reason for event in died}) == 1
    assert died[0].reason.startswith(reason)
    assert state == f"{died[0].reason} It is being started again."
    errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert [(error.getMessage(), error.exc_info) for error in errors] == [
        (f"{died[0].reason} Starting it again in 0 s.", None)
    ]


def test_each_start_that_takes_too_long_gets_twice_as_long_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a busy machine would never start Spark."""
    for name, value in (("START", 0.1), ("PING", 0.05), ("BACKOFF", (0.0,))):
        monkeypatch.setattr(supervisor, name, value)

    async def reasons() -> list[str]:
        died = asyncio.Queue[Any]()
        driver = DriverSupervisor(HostSettings(spark={"spark.master": "local[1]"}).conf(), died.put_nowait)
        keeping = asyncio.create_task(driver.keep())
        found = [(await died.get()).reason for _ in range(3)]
        keeping.cancel()
        await asyncio.wait({keeping})
        await driver.close(0.0)
        return found

    assert asyncio.run(reasons()) == [f"Spark has not started within {seconds} s." for seconds in (0.1, 0.2, 0.4)]


def test_a_driver_that_has_not_answered_yet_does_not_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """It imports its modules, which takes long on a busy machine."""
    monkeypatch.setattr(supervisor, "PING", 0.05)
    monkeypatch.setattr(supervisor, "UNANSWERED", 1)

    async def story() -> None:
        died = asyncio.Queue[Any]()
        driver = DriverSupervisor(HostSettings(spark={"spark.master": "local[1]"}).conf(), died.put_nowait)
        keeping = asyncio.create_task(driver.keep())
        while not driver._answered:
            assert died.empty(), died.get_nowait().reason
            await asyncio.sleep(0.005)
        keeping.cancel()
        await asyncio.wait({keeping})
        await driver.close(0.0)

    asyncio.run(story())


def test_sockets_of_a_driver_that_can_not_be_started_are_closed(
    java_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver_conf = HostSettings(spark={"spark.master": "local[1]"}).conf()
    kept: list[BaseException] = []  # with their frames, which have the sockets

    async def tries() -> set[str]:
        before = sockets()
        for _ in range(2):
            try:
                await DriverSupervisor(driver_conf, lambda event: None)._once()
            except Exception as error:
                kept.append(error)
        return sockets() - before

    def sockets() -> set[str]:
        entries = (Path("/proc/self/fd") / each for each in os.listdir("/proc/self/fd"))
        return {os.readlink(each) for each in entries if each.is_symlink() and "socket" in os.readlink(each)}

    def refuse(*args: Any, **options: Any) -> Any:
        raise BlockingIOError("no more processes")

    assert asyncio.run(tries()) == set()
    monkeypatch.setattr("penstock.spark.supervisor.environment", lambda conf: {})
    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert asyncio.run(tries()) == set()
    assert len(kept) == 4
