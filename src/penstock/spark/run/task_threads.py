"""Several tasks in one process, a thread each: those of ``penstock.tasks.per.process``, whose worker's side is
``sharing``, and the queries in Spark's driver.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from penstock.spark.messages.task import TaskSubmission

_own = threading.local()
"""``task``: the ``OfTask`` of the present thread."""


class TaskThreads:
    """The process ends when ``wait`` returns: no task runs any more."""

    def __init__(self, run: Callable[[TaskSubmission], object]) -> None:
        """``run`` runs a task to its end."""
        self._run = run
        self._changed = threading.Condition()
        self._running = 0
        self._ended = False

    def begin(self, submission: TaskSubmission, failed: Callable[[Exception], None]) -> None:
        """Any thread may call this. Nothing happens if the process is ending: the worker sees that.

        ``failed`` is called, by any thread, if ``run`` raises something or can't be called.
        """
        with self._changed:
            if self._ended:
                return
            self._running += 1
        who = submission.identity
        name = f"task-thread-{who.connector}-{who.task}"
        try:
            threading.Thread(target=self._task, args=(submission, failed), name=name, daemon=True).start()
        except RuntimeError as error:  # the system has no thread for it
            failed(error)
            self._over()

    def wait(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._running)
            self._ended = True

    def _task(self, submission: TaskSubmission, failed: Callable[[Exception], None]) -> None:
        try:
            self._run(submission)
        except Exception as error:
            failed(error)
        finally:
            self._over()

    def _over(self) -> None:
        with self._changed:
            self._running -= 1
            self._changed.notify()


class OfTask(logging.Filter):
    """A filter that passes what the threads of one task log: the thread that creates it, and threads they start."""

    def __init__(self) -> None:
        super().__init__()
        self.enter()

    def enter(self) -> None:
        """Make the present thread one of the task's."""
        _own.task = self

    def filter(self, record: logging.LogRecord) -> bool:
        return getattr(_own, "task", None) is self


def inherit_task() -> None:
    """Make every thread started from now on one of the task that starts it, as Java's threads inherit its context."""
    start = threading.Thread.start

    def with_task(thread: threading.Thread) -> None:
        task, run = getattr(_own, "task", None), thread.run

        def of_task() -> None:
            vars(thread).pop("run", None)  # or the thread would hold itself
            _own.task = task
            run()

        vars(thread)["run"] = of_task
        start(thread)

    setattr(threading.Thread, "start", with_task)  # noqa: B010 - a method, for mypy
