"""Task loops for the tests of hosting: what ``pipeline`` does, without Kafka."""

from __future__ import annotations

import itertools
import logging
import os
import resource
import signal
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from penstock.api.record import Record
from penstock.core.model.tasks import ReportedOffset
from penstock.pipeline.task import TaskControl, TaskFencedError, TaskHost, TaskSpec


class Ticker:
    """Task without work."""


def tick(spec: TaskSpec, task_class: type, control: TaskControl, host: TaskHost, resolve: Any) -> None:
    """Runs, pauses, resumes; says its topic; fails when its configuration says so."""
    seen, resets = set(spec.known_topics), 0
    paused: bool | None = None
    while not control.stopping:
        if control.resets != resets:
            resets = control.resets
            seen.clear()
        if paused is not control.pausing:
            paused = control.pausing
            (host.paused if paused else host.running)()
        if not paused and "topic" in spec.config and spec.config["topic"] not in seen:
            seen.add(spec.config["topic"])
            host.topic_seen(spec.config["topic"])
        if "fail" in spec.config:
            raise ValueError(spec.config["fail"])
        control.changed.wait(1.0)
        control.changed.clear()
    host.store_offsets([ReportedOffset({"file": "a"}, {"position": 7})])
    host.metrics({"source-record-poll-total": 3.0})


def count(spec: TaskSpec, task_class: type, control: TaskControl, host: TaskHost, resolve: Any) -> None:
    """Reports its counts, and says so in the log."""
    host.running()
    logging.getLogger("loops").info("Counting")
    while not control.stopping:
        host.metrics({"source-record-poll-total": 3.0, "batch-size-max": 2.0})
        control.wait(0.5)


def made(spec: TaskSpec, task_class: type, control: TaskControl, host: TaskHost, resolve: Any) -> None:
    """Makes the task and polls it once; the topic that it says is what it got."""
    task: Any = task_class()
    task.context = SimpleNamespace(offset_reader=Nothing(), transaction=None, configs={})
    task.start(dict(spec.config))
    host.topic_seen(task.poll().values[0])
    host.running()
    control.wait(600.0)
    task.stop()


class Nothing:
    """No offsets."""

    def offset(self, partition: Any) -> None:
        return None

    def offsets(self, partitions: Any) -> list[None]:
        return [None] * len(partitions)


def block(spec: TaskSpec, task_class: type, control: TaskControl, host: TaskHost, resolve: Any) -> None:
    """Polls for ever, until its own stop ends that."""
    released = threading.Event()
    control.on_stop = released.set
    host.running()
    released.wait()


def hog(spec: TaskSpec, task_class: type, control: TaskControl, host: TaskHost, resolve: Any) -> None:
    """Allocates memory until the system refuses more, and is then killed as by Linux's OOM killer."""
    host.running()
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[0])
    limit = pages * resource.getpagesize() + (64 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    taken = []
    try:
        while True:
            taken.append(bytearray(1 << 20))
    except MemoryError:
        os.kill(os.getpid(), signal.SIGKILL)


def crash(spec: TaskSpec, task_class: type, control: TaskControl, host: TaskHost, resolve: Any) -> None:
    """Ends its process as its configuration says."""
    host.running()
    {"exit": lambda: os._exit(3), "abort": os.abort}[spec.config["how"]]()


def deaf(spec: TaskSpec, task_class: type, control: TaskControl, host: TaskHost, resolve: Any) -> None:
    """Ignores stops and aborts."""
    host.running()
    threading.Event().wait()


def initialized(spec: TaskSpec, task_class: type, control: TaskControl, host: TaskHost, resolve: Any) -> None:
    """Fences its older producers, and stores the offsets that it gets."""
    offsets = host.committed_offsets()
    host.running()
    host.store_offsets([ReportedOffset(each.partition, each.offset, each.identity) for each in offsets])
    while not control.stopping:
        control.wait(1.0)


def fenced(spec: TaskSpec, task_class: type, control: TaskControl, host: TaskHost, resolve: Any) -> None:
    host.running()
    raise TaskFencedError("another run has taken its place")


def die_once(record: Record) -> Record:
    """Transform that kills its process at a name that is the path of a missing file, which it creates."""
    name = record.value["name"]
    if name.startswith("/") and not Path(name).exists():
        Path(name).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return record


def hang(record: Record) -> Record:
    """Transform that hangs at a name that is a path, to which it writes its process ID."""
    name = record.value["name"]
    if name.startswith("/"):
        Path(name).write_text(str(os.getpid()))
        threading.Event().wait()
    return record


def chatter(spec: TaskSpec, task_class: type, control: TaskControl, host: TaskHost, resolve: Any) -> None:
    """Logs from some threads as fast as it can until it is stopped or has logged all lines, and then ends."""
    host.running()
    logger, many = logging.getLogger("chatter"), int(spec.config.get("lines", "0"))

    def log() -> None:
        for n in itertools.count():
            if control.stopping or n == many > 0:
                return
            logger.info("line %d", n)

    threads = [threading.Thread(target=log) for _ in range(int(spec.config.get("threads", "1")))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    if "exit" in spec.config:
        os._exit(3)
    logger.info("the last line")
    if "fail" in spec.config:
        raise ValueError(spec.config["fail"])
