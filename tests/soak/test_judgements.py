"""The soak and the kill test detect violations."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from faults.plan import Fault, Plan
from soak import databases, kept
from soak.beats import Runs
from soak.churn import Wanted, beats_amiss
from soak.feeder import Feeder
from soak.origins import Origins, jumps
from soak.progress import ProgressWatch
from soak.resources import MOST, Life, Resources, Sample, described, growth
from soak.sites import CHANGED, Shared, restart_where_it_stopped
from soak.tally import Tally, amiss
from soak.values import KeptCounts, judged
from support.worker_process import WorkerProcess


def runs(*beats: tuple[str, int], revision: str = "1") -> Runs:
    """Return the runs of task a-0 from pairs of a run's name and a time."""
    found = Runs()
    for run, at in beats:
        found.add({"name": "a", "task": "0", "run": run, "pid": 7, "revision": revision, "at": at})
    return found


def tally(*numbers: int) -> Tally:
    found = Tally()
    for number in numbers:
        found.add(number)
    return found


def wanted(**changes: Any) -> Wanted:
    return Wanted({"tasks.max": "1", "revision": "1"}, **changes)


def test_runs_that_follow_each_other_are_no_double_run() -> None:
    assert runs(("x", 0), ("x", 5), ("y", 6), ("y", 9)).twice() == []


def test_a_run_that_begins_before_the_last_heartbeat_of_another_is_one() -> None:
    [sentence] = runs(("x", 0), ("x", 10), ("y", 6), ("y", 20)).twice()
    assert sentence.startswith("task a-0 ran twice for 4 ms: run y (process 7) was started at 6, run x")


def test_a_run_is_compared_with_all_that_began_before_it_and_in_whatever_order_heartbeats_come() -> None:
    found = runs(("z", 30), ("z", 31), ("y", 5), ("y", 6), ("x", 40), ("x", 0)).twice()
    assert [sentence.split(":")[0] for sentence in found] == ["task a-0 ran twice for 1 ms"] * 2


@pytest.mark.parametrize(
    ("asked", "heard", "said"),
    [
        ({"a": wanted()}, runs(("x", 5)), []),
        ({"a": wanted()}, runs(("x", 0)), ["task a-0 is missing: no heartbeat"]),
        ({"a": wanted()}, runs(("x", 5), revision="0"), ["task a-0 runs with ['0'], not with 1"]),
        ({"a": wanted()}, runs(("x", 5), ("y", 6)), ["task a-0 runs with ['1', '1'], not with 1"]),
        ({"a": wanted(state="PAUSED")}, runs(("x", 5)), ["task a-0 runs, but should not"]),
        ({}, runs(("x", 5)), ["task a-0 runs, but should not"]),
        ({}, runs(("x", 0)), []),
    ],
    ids=["right", "missing", "old", "two", "paused", "deleted", "gone"],
)
def test_who_is_at_work_in_the_end(asked: dict[str, Wanted], heard: Runs, said: list[str]) -> None:
    assert beats_amiss(heard, 2, asked) == said


@pytest.mark.parametrize(
    ("found", "end", "once", "at_least_once"),
    [
        (tally(0, 1, 2), 3, [], []),
        (tally(0, 1), 3, ["numbers from 2 to 2 are lost"], ["numbers from 2 to 2 are lost"]),
        (tally(0, 2), 3, ["1 numbers are lost, the first is 1"], ["1 numbers are lost, the first is 1"]),
        (tally(0, 1, 2), 2, ["numbers go to 2, though the committed offset is 2"], []),
        (
            tally(0, 1, 1, 2),
            3,
            ["1 numbers are duplicated, the first is 1", "the order is broken in 1 places"],
            [],
        ),
        (tally(0, 2, 1), 3, ["the order is broken in 1 places"], []),
    ],
    ids=["right", "end lost", "lost", "uncommitted", "twice", "disordered"],
)
def test_what_has_become_of_numbers(found: Tally, end: int, once: list[str], at_least_once: list[str]) -> None:
    assert amiss({4: found}, {4: end}, exactly_once=True) == [f"source partition 4: {one}" for one in once]
    assert amiss({4: found}, {4: end}, exactly_once=False) == [f"source partition 4: {one}" for one in at_least_once]


def test_a_source_partition_that_never_arrived_is_lost() -> None:
    assert amiss({}, {4: 2}, exactly_once=True) == ["source partition 4: numbers from 0 to 1 are lost"]


@pytest.mark.parametrize(
    ("numbers", "rewinds", "wrong"),
    [
        ([0, 1, 2, 3], [], []),
        ([0, 1, 2, 1, 2, 3], [1], []),
        ([0, 1, 2, 0, 1], [2, 0], []),
        ([0, 1, 2, 1, 2], [], ["1 came after 2, which was not requested"]),
        ([0, 1, 1, 2], [], ["1 came after 1, which was not requested"]),
        ([0, 1, 3], [1], ["3 came after 1, which was not requested"]),
        ([0, 1, 2, 1, 2, 1], [1], ["1 came after 2, which was not requested"]),
    ],
    ids=["right", "altered", "altered twice", "again", "twice", "lost", "again after it was altered"],
)
def test_what_has_become_of_offsets_that_were_altered(numbers: list[int], rewinds: list[int], wrong: list[str]) -> None:
    assert jumps(numbers, rewinds) == wrong


def test_a_feeder_whose_broker_never_comes_back_can_be_given_up() -> None:
    feeder = Feeder("127.0.0.1:1", "numbers", 1, 10, 0.0)
    feeder.start()
    feeder.abandon()
    feeder.join()
    assert feeder.failure is None


def test_progress_is_seen_where_a_measure_grows_and_not_where_it_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soak.progress.OFTEN", 0.001)
    values: Iterator[float | None] = iter([0.0, 1.0, 1.0, None, 1.0, 3.0])
    over = threading.Event()

    def measure() -> float | None:
        try:
            return next(values)
        except StopIteration:
            over.set()
            return None

    watch = ProgressWatch({"sink": measure})
    watch.start()
    over.wait()
    watch.stop()
    assert len(watch.times["sink"]) == 2


def life(kind: str, name: str, *samples: tuple[int, ...]) -> Life:
    return Life(kind, name, [Sample(*each) for each in samples])


def test_what_grows_to_the_end_is_seen_and_what_grows_at_the_start_is_not() -> None:
    warm = life("task", "process 7", *((50 + min(i, 30), 100, 20) for i in range(90)))
    assert growth([warm], MOST) == []
    leaking = life("task", "process 8", *((80, 100 + 3 * i, 20) for i in range(90)))
    grown = "grew by more than 25%, of process 8, watched for 450 s, from 233.5 to 323.5"
    sentence = f"the file descriptors of 1 task processes {grown}"
    assert growth([warm, leaking], MOST) == [sentence]
    assert growth([warm, leaking], 1.5) == []
    assert described([warm, leaking])["task processes"] == "2, 2 of them watched for 120 s or longer"
    assert described([warm, leaking])["file descriptors of a task"] == "143.5 → 233.5 → 323.5"
    assert described([warm])["MB of memory of a task"] == "64.5 → 80 → 80"


def test_a_process_that_takes_the_place_of_another_does_not_grow_by_what_that_took() -> None:
    low, high = (life("java", name, *[(mb, 40, 20)] * 60) for name, mb in (("process 7", 200), ("process 8", 400)))
    assert growth([low, high], MOST) == []


def test_what_is_given_back_again_is_no_growth() -> None:
    pool = [(80, 20, 130 + (160 if i >= 60 and i % 10 < 8 else 0)) for i in range(90)]
    leak = [(80, 20, threads + 2 * i) for i, (_, _, threads) in enumerate(pool)]
    assert growth([life("java", "process 7", *pool)], MOST) == []
    assert growth([life("java", "process 7", *leak)], MOST) == [
        "the threads of 1 java processes grew by more than 25%, of process 7, watched for 450 s, from 219 to 431"
    ]


def test_what_more_tasks_take_is_no_growth() -> None:
    tasks = [10 + 15 * (i >= 60) + i % 3 for i in range(90)]
    busy = life("worker", "process 7", *((100, 60 + 2 * count, 40 + count, count) for count in tasks))
    assert growth([busy], MOST) == []
    leaking = life("worker", "process 8", *((100, 60 + 2 * count + 2 * i, 40, count) for i, count in enumerate(tasks)))
    assert growth([leaking], MOST) == [
        "the file descriptors of 1 worker processes grew by more than 25%, of process 8, watched for 450 s, "
        "from 171 to 230.7"
    ]


def test_a_process_that_lived_for_a_short_time_is_counted_alone() -> None:
    short = life("daemon", "process 7", *((80 * i, 20, 20) for i in range(10)))
    assert growth([short], MOST) == []
    assert described([short]) == {"daemon processes": "1, 0 of them watched for 120 s or longer"}


def test_the_processes_of_a_worker_are_watched_until_they_end(tmp_path: Path) -> None:
    worker = WorkerProcess("", tmp_path)
    resources = Resources([worker], looks := tmp_path / "looks.jsonl")
    with subprocess.Popen(["sleep", "60"]) as worker.process:
        resources.look()
        resources.look()
        worker.process.kill()
    resources.look()
    [found] = resources.lives
    assert (found.kind, len(found.samples)) == ("worker", 2)
    assert found.samples[0].file_descriptors >= 3
    [first, _] = map(json.loads, looks.read_text().splitlines())
    assert (first["look"], first["names"]) == (1, {"sleep": 1})
    assert sum(first["leads"].values()) == first["file_descriptors"]


NAMED = """
import pathlib, sys, threading
for name in ("block-manager-a", "block-manager-s", "dispatcher"):
    thread = threading.Thread(target=threading.Event().wait, daemon=True)
    thread.start()
    pathlib.Path(f"/proc/self/task/{thread.native_id}/comm").write_text(name)
print(flush=True)
sys.stdin.read()
"""


def test_threads_of_sparks_cleaner_do_not_count(tmp_path: Path) -> None:
    worker = WorkerProcess("", tmp_path)
    resources = Resources([worker], looks := tmp_path / "looks.jsonl")
    command, pipe = [sys.executable, "-c", NAMED], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as worker.process:
        assert worker.process.stdout is not None
        worker.process.stdout.readline()
        resources.look()
        worker.process.kill()
    assert resources.lives[0].samples[0].threads == 2
    assert json.loads(looks.read_text())["names"]["block-manager-a"] == 1


def test_counts_of_values_are_summed_over_pieces(tmp_path: Path) -> None:
    counts = KeptCounts(tmp_path / "kept.jsonl")
    for path, values, failure in (
        ("a", 60, ""),
        ("b", 0, "3 became 4"),
        ("c", 0, "late"),
        ("a", 40, ""),
        ("b", 10, ""),
    ):
        counts.add(path, values, 7, failure)
    assert counts.totals() == {"a": 100, "b": 10, "c": 0}
    found = judged(counts, 100)
    assert found.figures["values"] == 110
    assert found.violations == ["c: late (seed 7)", "b: 10 of 100 values so far, run it again"]
    counts.add("c", 100, 8)
    counts.add("b", 90, 8)
    assert judged(counts, 100).violations == []
    assert judged(counts, 100, 2).violations == ["pytest ended with status 2"]


def test_results_of_kills_of_databases_are_kept_and_summed(tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    assert databases.read(kept) == []
    first = databases.Round("7.0", 2000, {"JVM": 3, "driver": 2}, {"SQLite": 0}, {"SQLite": 0})
    second = databases.Round("8.1", 2000, {"JVM": 5}, {"SQLite": 1}, {"SQLite": 2})
    kept.write_text("".join(json.dumps(asdict(each)) + "\n" for each in (first, second)))
    assert databases.judged(databases.read(kept), 12).violations == [
        "seed 8.1: missing {'SQLite': 1}, doubled {'SQLite': 2}",
        "10 of 12 kills so far, run it again",
    ]
    found = databases.judged([first], 5)
    assert found.violations == []
    assert found.figures["kills"] == 5
    assert found.figures["rows of each database"] == 2000


def soak_run(seed: int, faults: int, **changes: Any) -> kept.SoakRun:
    given = {"exactly_once": True, "seconds": 60, "numbers": 100, "lost": 0, "doubled": 0, "stops": ["why"]}
    return kept.SoakRun(seed=seed, faults={"kill": faults}, **given | changes)


def test_faults_of_a_soak_are_counted_over_its_runs(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "soak.jsonl"
    assert kept.read(file) == []
    kept.add(file, soak_run(1, 2))
    kept.add(file, soak_run(2, 3, exactly_once=False, doubled=7))
    assert kept.count(kept.read(file)) == 5
    assert kept.judged(kept.read(file), 6).violations == ["5 of 6 faults so far, run it again"]
    enough = kept.judged(kept.read(file), 5)
    assert enough.violations == []
    assert enough.figures["faults, exactly once"] == "2: 2 kill"
    assert enough.figures["duplicate numbers, at least once"] == 7
    assert enough.figures["stops with a message"] == 2


def test_what_an_earlier_run_of_a_soak_has_found_stays_found(tmp_path: Path) -> None:
    file = tmp_path / "soak.jsonl"
    kept.add(file, soak_run(1, 2, violations=["a number is lost"]))
    kept.add(file, soak_run(2, 2))
    assert kept.judged(kept.read(file), 4).violations == ["seed 1: a number is lost"]


@pytest.mark.integration
@pytest.mark.slow
def test_a_soak_with_enough_faults_shows_them_and_starts_nothing(tmp_path: Path) -> None:
    file = tmp_path / "soak.jsonl"
    kept.add(file, soak_run(1, 4))
    command = [sys.executable, "-m", "soak", "churn", "--number", "4", "--kept", str(file)]
    found = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    shown = subprocess.run(command, capture_output=True, text=True, check=True, env=found).stdout
    assert "4: 4 kill" in shown
    assert kept.count(kept.read(file)) == 4


class Asked:
    """A cluster with one stopped connector, whose position changes at the third look after it was fed.

    ``asked``: the requests, in order.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.looks = 0
        self.fed = False

    def request(self, method: str, path: str, body: Any = None) -> Any:
        if method == "PUT":
            self.asked.append(body.get(CHANGED, "as before"))
        if path.endswith("/offsets"):
            self.looks += self.fed
            self.asked.append(f"position {self.looks > 2}")
        found = {
            "connector": {"state": "RUNNING"},
            "tasks": [{"state": "RUNNING" if self.asked else "FAILED", "trace": f"Set {CHANGED}=restart"}],
            "offsets": [{"offset": {"position": 7 if self.looks > 2 else 3}}],
        }
        return SimpleNamespace(json=lambda: found)


class Fed:
    name = "fed"
    lock = threading.Lock()

    def __init__(self, cluster: Asked) -> None:
        self.cluster = cluster

    def config(self) -> dict[str, str]:
        return {}

    def feed(self) -> None:
        self.cluster.fed = True

    def missing(self) -> int:
        return 0

    def hit(self, fault: Fault, cluster: Asked) -> None:
        cluster.asked.append("hit")
        raise AssertionError("not within 300 s: all of it")


def test_a_connector_that_has_begun_again_is_set_back_when_its_new_position_is_committed(tmp_path: Path) -> None:
    """If it were lost before that, it would begin again at the position in the old origin, and stop once more."""
    cluster: Any = Asked()
    shared = Shared("", tmp_path, exactly_once=False)
    restart_where_it_stopped(shared, cluster, Fed(cluster))  # type: ignore[arg-type]
    looks = [f"position {number > 3}" for number in range(1, 5)]
    assert cluster.asked == ["restart", *looks, "as before"]
    assert shared.stops == [f"Set {CHANGED}=restart"]


def test_a_fault_that_does_not_end_well_is_a_violation_and_no_other_of_its_kind_waits(tmp_path: Path) -> None:
    cluster: Any = Asked()
    origins = Origins(cluster, "", tmp_path, Plan(seed=1, number=1), exactly_once=True)
    origins._sites = {"file": Fed(cluster)}  # type: ignore[dict-item]
    for _ in range(2):
        origins.hit(Fault("file", 0.0, 0.0, "worker", 0.0))
    assert cluster.asked == ["hit"]
    assert origins._unfinished["file"].startswith("fed: not within 300 s: all of it, status: {")
