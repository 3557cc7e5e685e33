"""Task loops for the tests of hosting: what ``pipeline`` does, without Kafka."""

from __future__ import annotations

import threading
from typing import Any

from penstock.pipeline.task import TaskControl, TaskHost, TaskSpec


class Ticker:
    """Nothing to do."""


def tick(spec: TaskSpec, task_class: type, control: TaskControl, host: TaskHost, plugins: Any) -> None:
    """Runs, pauses, resumes; says its topic; fails when its configuration says so."""
    seen, paused, resets = set(spec.known_topics), None, 0
    while not control.stopping:
        if control.resets != resets:
            resets = control.resets
            seen.clear()
        if paused is not control.pausing if paused is not None else True:
            paused = control.pausing or (paused is None and spec.paused)
            control.pausing = paused
            (host.paused if paused else host.running)()
        if not paused and "topic" in spec.config and spec.config["topic"] not in seen:
            seen.add(spec.config["topic"])
            host.topic_seen(spec.config["topic"])
        if "fail" in spec.config:
            raise ValueError(spec.config["fail"])
        control.changed.wait(1.0)
        control.changed.clear()
    host.store_offsets([({"file": "a"}, {"position": 7})])
    host.metrics({"source-record-poll-total": 3.0})


def block(spec: TaskSpec, task_class: type, control: TaskControl, host: TaskHost, plugins: Any) -> None:
    """Polls for ever, until its own stop ends that."""
    released = threading.Event()
    control.on_stop = released.set
    host.running()
    released.wait()


def deaf(spec: TaskSpec, task_class: type, control: TaskControl, host: TaskHost, plugins: Any) -> None:
    """Takes no notice of anything."""
    host.running()
    threading.Event().wait()
