from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from penstock.spark.task_exit import (
    CONTACT_LOST,
    ExitStatuses,
    OutOfMemoryKills,
    crashed_on_executor,
    ending,
    lost_with_executor,
    report,
)

EXECUTOR = "Lost task 0.0 in stage 3.0 (TID 3) (host executor 0): "


@pytest.mark.parametrize(
    ("status", "out_of_memory", "expected"),
    [
        (None, True, ("it was killed, or it crashed", False)),
        (0, False, ("it exited with code 0", True)),
        (3 << 8, True, ("it exited with code 3", True)),
        (CONTACT_LOST << 8, False, ("it lost contact with its worker", False)),
        (signal.SIGSEGV | 0x80, False, ("it crashed with SIGSEGV", True)),
        (signal.SIGBUS, False, ("it crashed with SIGBUS", True)),
        (signal.SIGTERM, True, ("it was killed by SIGTERM", False)),
        (signal.SIGKILL, False, ("it was killed by SIGKILL", False)),
        (signal.SIGKILL, True, ("the kernel killed it for lack of memory", True)),
    ],
)
def test_only_what_a_process_did_itself_counts(
    status: int | None, out_of_memory: bool, expected: tuple[str, bool]
) -> None:
    assert ending(status, out_of_memory) == expected


@pytest.mark.parametrize(
    ("error", "lost", "crashed"),
    [
        (None, False, False),
        (f"{EXECUTOR}ExecutorLostFailure (executor 0 exited unrelated to the running tasks)", True, False),
        (f"{EXECUTOR}Executor decommission: worker lost", True, False),
        (f"{EXECUTOR}org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)", False, True),
        ("ValueError: no", False, False),
    ],
)
def test_an_executors_loss_is_not_the_tasks(error: str | None, lost: bool, crashed: bool) -> None:
    assert (lost_with_executor(error), crashed_on_executor(error)) == (lost, crashed)


def test_a_status_is_for_each_task_of_the_process_and_not_for_the_next_process_of_this_number() -> None:
    async def take() -> list[int | None]:
        asyncio.get_running_loop().call_later(0.1, report, exits.folder, 7, 256)
        taken = [await exits.take(7), await exits.take(7, 10.0), await exits.take(7)]
        exits.forget(7)
        return [*taken, await exits.take(7)]

    exits = ExitStatuses()
    assert exits.folder.stat().st_mode & 0o777 == 0o700
    assert asyncio.run(take()) == [None, 256, 256, None]
    report(exits.folder, 8, 0)
    exits.forget(8)
    exits.forget(9)
    assert not list(exits.folder.iterdir())
    exits.close()
    assert not exits.folder.exists()


def test_a_status_that_nobody_waits_for_leaves_no_file() -> None:
    """The message arrives after the end of the process has been noticed."""

    async def expect() -> None:
        exits.expect(7)
        await asyncio.sleep(0)
        report(exits.folder, 7, 0)
        while exits._expected:
            await asyncio.wait(exits._expected)

    exits = ExitStatuses()
    asyncio.run(expect())
    assert not list(exits.folder.iterdir())
    assert exits._taken == {7: 0}
    exits.close()


def test_the_kernels_kills_are_read_from_the_first_file_that_counts_them(tmp_path: Path) -> None:
    kills = OutOfMemoryKills()
    assert kills.count() >= 0
    (tmp_path / "a").write_text("oom 4\noom_kill_disable 0\n")
    (tmp_path / "b").write_text("oom 4\noom_kill 3\noom_group_kill 0\n")
    kills._files = [tmp_path / "none", tmp_path / "a", tmp_path / "b"]
    assert kills.count() == 3
