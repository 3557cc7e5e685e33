"""Profile of a task: its loop runs here in a thread that is sampled all the time."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from confluent_kafka.admin import NewTopic

from bench import formats
from bench.cases import CASES
from bench.connect import STRINGS, CaseError
from bench.setting import Setting
from bench.tables import Table
from penstock.connectors.file_sink import FileStreamSinkTask
from penstock.connectors.file_source import FileStreamSourceTask
from penstock.pipeline.trace import trace
from support.tasks.runs import TaskRun

PATHS = ("source-string", "source-json", "sink-string", "sink-json", *formats.SOURCES, *formats.SINKS)

STAGES = {
    "poll": ("connectors/file_source.py", "connectors/lines.py"),
    "fetch": ("pipeline/sink/fetch.py",),
    "transform": ("pipeline/chain.py", "pipeline/transforms/"),
    "convert": ("pipeline/conversion.py", "pipeline/converters/"),
    "produce": ("pipeline/source/sending/",),
    "put": ("connectors/file_sink.py",),
    "commit": ("pipeline/source/transactions.py", "pipeline/source/offset_log.py", "pipeline/sink/commits.py"),
}
"""Stages by the innermost of these files that a thread is in; time in none of them is the loop's own."""
OTHER = "the loop"
_WAITING = frozenset({"poll", "fetch", "commit", OTHER})
"""Stages that a task is in before the first record and after the last."""
_TASKS = {"FileStreamSource": FileStreamSourceTask, "FileStreamSink": FileStreamSinkTask}


@dataclass(frozen=True, slots=True)
class Path:
    """The processor time that the loop of one case takes for a record, and each stage's share of it."""

    case: str
    about: str
    microseconds: float
    shares: dict[str, float]


def run(case: str, setting: Setting, about: str) -> Path:
    threads = _Threads(setting)
    CASES[case](threads, setting)  # type: ignore[arg-type]
    spent = threads.sampler.spent()
    seconds = spent.total()
    shares = {stage: each / seconds for stage, each in spent.items()} if seconds else {}
    return Path(case, about, seconds / setting.records * 1e6, shares)


def table(paths: list[Path]) -> Table:
    rows = []
    for path in paths:
        shares = [path.shares.get(stage, 0.0) for stage in (*STAGES, OTHER)]
        cells = ("" if share < 0.005 else f"{share:.0%}" for share in shares)
        rows.append([path.case, f"{path.microseconds:.2f}", *cells])
    return Table(["case", "µs a record", *STAGES, OTHER], rows)


class Sampler:
    """Samples a thread's stage and its processor time since the last sample; waiting and other load of the machine do
    not count.

    A Python thread yields to another after the interpreter's switch interval, 5 ms by default: during sampling that is
    ``every``, since otherwise a few thousand records would get only a dozen samples.
    """

    def __init__(self, thread: int, every: float = 0.001) -> None:
        self._thread, self._every = thread, every
        self._switching = sys.getswitchinterval()
        sys.setswitchinterval(every)
        self._clock = time.pthread_getcpuclockid(thread)
        self.seen: list[tuple[str, float]] = []
        self._over = threading.Event()
        self._sampling = threading.Thread(target=self._look, daemon=True)
        self._sampling.start()

    def end(self) -> None:
        self._over.set()
        self._sampling.join()
        sys.setswitchinterval(self._switching)

    def spent(self) -> Counter[str]:
        """Return the seconds by stage, without the time before the first record and after the last."""
        working = [i for i, (stage, _) in enumerate(self.seen) if stage not in _WAITING]
        spent: Counter[str] = Counter()
        for stage, seconds in self.seen[working[0] : working[-1] + 1] if working else ():
            spent[stage] += seconds  # type: ignore[assignment]
        return spent

    def _look(self) -> None:
        before = time.clock_gettime(self._clock)
        while not self._over.wait(self._every):
            frame, now = sys._current_frames().get(self._thread), time.clock_gettime(self._clock)
            self.seen.append((stage_of(frame), now - before))
            before = now


def stage_of(frame: FrameType | None) -> str:
    while frame is not None:
        file = frame.f_code.co_filename
        for stage, places in STAGES.items():
            if any(place in file for place in places):
                return stage
        frame = frame.f_back
    return OTHER


@dataclass
class _Threads:
    """A cluster whose only task is a thread of this process."""

    setting: Setting
    name: str = "a thread"
    _runs: dict[str, TaskRun] = field(default_factory=dict)

    def put(self, name: str, config: dict[str, str]) -> None:
        offsets = f"{name}-offsets"
        more: dict[str, Any] = {}
        if "topics" not in config:
            topic = NewTopic(offsets, 1, 1, config={"cleanup.policy": "compact"})
            self.setting.admin.create_topics([topic])[offsets].result()
            more = {"exactly_once": True, "offsets_topic": offsets}
        task = _TASKS[config["connector.class"]]
        run = TaskRun(task, self.setting.bootstrap, {**STRINGS, **config}, connector=name, **more)
        self._runs[name] = run.started()
        assert run.thread.ident is not None
        self.sampler = Sampler(run.thread.ident)

    def check(self, name: str) -> None:
        if (error := self._runs[name].error) is not None:
            raise CaseError(f"the task of {name} has failed:\n{trace(error)}")

    def delete(self, name: str) -> None:
        self.sampler.end()
        run = self._runs.pop(name)
        run.stop()
        if run.spec.offsets_topic is not None:
            self.setting.delete_topics(run.spec.offsets_topic)
