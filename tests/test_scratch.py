"""Folders that are gone when their processes are, however those end: with real processes, killed and frozen."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from penstock.scratch import PREFIX, Scratch, remove_abandoned
from support.process_tree import frozen
from support.waiting import SECONDS, until

OWNER = """
import pathlib, sys, time
from penstock.scratch import Scratch
made = Scratch("test", pathlib.Path(sys.argv[1]))
(made.path / "below").mkdir()
(made.path / "below" / "file").write_text("something")
print(made.path, flush=True)
sys.stdin.readline()
made.close()
"""
Owner = tuple[subprocess.Popen[str], Path]


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Callable[[], Owner]]:
    """Starts a process, and tells what folder it has made; the process ends when its input does."""

    def start() -> Owner:
        command = [sys.executable, "-c", OWNER, str(tmp_path)]
        process = ending.enter_context(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )
        ending.callback(process.kill)
        assert process.stdout is not None
        return process, Path(process.stdout.readline().strip())

    with ExitStack() as ending:
        yield start


def test_a_killed_process_leaves_its_folder_to_the_next_one_that_makes_one(
    tmp_path: Path, owner: Callable[[], Owner]
) -> None:
    (killed, left), (stopped, kept), (ended, gone) = owner(), owner(), owner()
    (strange := tmp_path / "of-another-program").mkdir()
    psutil.Process(stopped.pid).suspend()
    until(lambda: frozen(psutil.Process(stopped.pid)), "that it is frozen", SECONDS)
    ended.communicate("\n")
    assert not gone.exists(), "a process removes its own folder"
    killed.kill()
    killed.wait()
    assert (left / "below" / "file").exists()
    with Scratch("next", tmp_path) as mine:
        until(lambda: not left.exists(), "that what the killed process has left is removed", SECONDS)
        assert set(tmp_path.iterdir()) == {mine, kept, strange}
        assert mine.stat().st_mode & 0o777 == 0o700
    psutil.Process(stopped.pid).resume()
    assert (kept / "below" / "file").exists()


def test_folders_of_living_processes_stay_though_many_look_while_they_are_made(tmp_path: Path) -> None:
    def make(_: int) -> Scratch:
        made = Scratch("one", tmp_path)
        (made.path / "file").touch()
        remove_abandoned(tmp_path)
        return made

    with ThreadPoolExecutor(8) as threads:
        every = list(threads.map(make, range(200)))
    assert {made.path for made in every} == set(tmp_path.iterdir())
    assert all((made.path / "file").exists() for made in every)
    for made in every:
        made.close()
        made.close()
    assert list(tmp_path.iterdir()) == []


def test_links_and_files_of_such_a_name_are_left_alone(tmp_path: Path) -> None:
    (target := tmp_path / "target").mkdir()
    (link := tmp_path / f"{PREFIX}link").symlink_to(target)
    (file := tmp_path / f"{PREFIX}file").touch()
    remove_abandoned(tmp_path)
    assert set(tmp_path.iterdir()) == {target, link, file}
    remove_abandoned(tmp_path / "absent")


def test_folders_of_other_machines_on_a_shared_disk_are_left_alone(tmp_path: Path) -> None:
    """Their locks can't be seen here."""
    mine, theirs = tmp_path / f"{PREFIX}spark-1", tmp_path / "penstock-scratch-00000000-spark-1"
    mine.mkdir()
    theirs.mkdir()
    remove_abandoned(tmp_path)
    assert list(tmp_path.iterdir()) == [theirs]
