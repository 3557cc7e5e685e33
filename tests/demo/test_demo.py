"""The demo as users run it: its output, its proof that nothing is lost, and its cleanup."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from html import escape
from pathlib import Path

import psutil
import pyarrow.dataset as ds
import pytest

from installed.conftest import Installed
from penstock.demo import flights
from penstock.demo.processes import WorkerProcess
from penstock.embedded.jars import jars
from penstock.spark.versions import release
from support.process_tree import alive, descendants
from support.process_tree import command as command_of

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "penstock.cli", "demo", *map(str, arguments)]


def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "COLUMNS": "200", **environment}
    return subprocess.run(command(*arguments), capture_output=True, text=True, check=False, env=env)


def processes_of(folder: Path) -> list[str]:
    """Return the command lines of processes that contain this folder."""
    return [said for each in psutil.process_iter() if str(folder) in (said := command_of(each))]


def wait(done: Callable[[], bool], seconds: float = 900) -> None:
    give_up = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < give_up
        time.sleep(0.1)


def test_flights_from_a_database_to_another(tmp_path: Path) -> None:
    for each in ("kafka", release().kafka, "jdbc-sqlite"):
        jars(each)
    folder = tmp_path / "demo"
    said = run("jdbc", "--records", 5000, "--folder", folder)
    assert (said.returncode, said.stderr) == (0, "")
    assert "Every flight is in the other database exactly once, as it was." in said.stdout
    with sqlite3.connect(folder / "copies.db") as database:
        assert database.execute("SELECT count(*), count(DISTINCT id) FROM copies").fetchall() == [(5000, 5000)]
    wait(lambda: processes_of(folder) == [])


def test_twenty_thousand_flights_arrive_exactly_once(installed: Installed, tmp_path: Path) -> None:
    """Only the wheel is installed."""
    # On a machine where they are not cached yet it would also report that it downloads them.
    for each in ("kafka", release().kafka):
        jars(each)
    folder = tmp_path / "demo"
    arguments = [installed.bin / "penstock", "demo", "--records", "20000", "--folder", folder]
    env = {**installed.env, "COLUMNS": "200", "SPARK_SUBMIT_OPTS": os.environ["SPARK_SUBMIT_OPTS"]}
    said = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=False, env=env)
    assert (said.returncode, said.stderr) == (0, "")
    assert "Every flight is in the file exactly once." in said.stdout
    assert said.stdout.count("0 RUNNING") == 2
    sent = (folder / "flights.csv").read_bytes().splitlines()
    assert len(sent) == 20_000
    assert sorted((folder / "sink.csv").read_bytes().splitlines()) == sorted(sent)
    wait(lambda: processes_of(folder) == [])
    # The same flights as a table, and the result of a Spark SQL query on it.
    table = ds.dataset(folder / "flights", format="parquet").to_table()
    assert table.column_names == list(flights.COLUMNS)
    assert table.num_rows == 20_000
    late = {carrier: f"{mean:+.1f}" for carrier, mean in delays(sent).items()}
    names = flights.airlines()
    picture = (folder / "flight-delays.svg").read_text()
    for carrier, delay in late.items():
        assert re.search(rf"{re.escape(names[carrier])}\W.*{re.escape(delay)}", said.stdout)
        assert f">{escape(names[carrier])}</text>" in picture
    assert len(late) > 10


def delays(lines: list[bytes]) -> dict[str, float]:
    carrier, delay = flights.COLUMNS.index("carrier"), flights.COLUMNS.index("arr_delay")
    known: dict[str, list[int]] = {}
    for fields in (line.decode().split(",") for line in lines):
        if fields[delay] != "NA":
            known.setdefault(fields[carrier], []).append(int(fields[delay]))
    return {name: sum(each) / len(each) for name, each in known.items()}


def test_a_kept_demo_runs_until_it_is_ended(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    said = run("--records", 1000, "--keep", "--folder", folder)
    assert said.returncode == 0, said.stdout + said.stderr
    running = processes_of(folder)
    assert any("worker distributed" in line for line in running)
    assert any("kafka.Kafka" in line for line in running)
    end = next(line.strip() for line in said.stdout.splitlines() if line.strip().startswith("kill "))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(end, shell=True, check=True, env={**os.environ, "PATH": path}, capture_output=True)
    wait(lambda: processes_of(folder) == [])


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_nothing_outlives_a_demo_that_is_ended(tmp_path: Path, number: signal.Signals, status: int) -> None:
    folder = tmp_path / "demo"
    demo = subprocess.Popen(
        command("--folder", folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Processes that a shell runs in the background, perhaps these tests, ignore SIGINT, and so do their children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        wait(lambda: (folder / "sink.csv").exists())
        children = descendants(demo.pid)
        demo.send_signal(number)
        assert demo.wait(900) == status
    finally:
        demo.kill()
        demo.wait()
    wait(lambda: not any(map(alive, children)))
    wait(lambda: processes_of(folder) == [])  # a process may have been started since then


def test_a_folder_that_is_not_empty_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    said = run("--folder", tmp_path)
    assert said.returncode == 1
    assert said.stderr == (
        f"penstock: {tmp_path} is not empty: choose another folder for the demo, or remove it first.\n"
    )


def test_a_folder_that_can_not_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = run("--folder", tmp_path / "file" / "demo")
    assert said.returncode == 1
    assert said.stderr.startswith(f"penstock: {tmp_path}/file/demo can't be a folder")
    assert "Traceback" not in said.stderr


def test_demos_that_start_at_once_have_ports_of_their_own(tmp_path: Path) -> None:
    workers = []
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        workers.append(WorkerProcess(tmp_path / name, "127.0.0.1:1"))
    assert len({worker.url for worker in workers}) == 3


def test_the_data_are_real(tmp_path: Path) -> None:
    assert flights.write(tmp_path / "all.csv") == flights.TOTAL
    lines = (tmp_path / "all.csv").read_text().splitlines()
    assert lines[0] == "2013,1,1,517,515,2,830,819,11,UA,1545,N14228,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z"
    assert {len(line.split(",")) for line in lines} == {len(flights.COLUMNS)}
    carriers = {line.split(",")[flights.COLUMNS.index("carrier")] for line in lines}
    assert carriers == set(flights.airlines())
