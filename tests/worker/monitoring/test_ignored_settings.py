"""Rows of the attention list about settings without effect."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from penstock.core.attention.rows import Row
from penstock.core.config.validation import WorkerRules
from penstock.plugins import Plugins
from penstock.worker.monitoring.ignored_settings import MAX_LENGTH, IgnoredSettings

SINK = {"name": "lines", "connector.class": "FileStreamSink", "topics": "lines", "file": "/tmp/lines"}


class AtOnce(Executor):
    def submit(self, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(call(*args, **kwargs))
        return future


class Worker:
    """A worker that runs the connectors ``given``, with real plugins."""

    def __init__(self) -> None:
        self.now, self.given = 7.0, dict[str, dict[str, str]]()
        plugins, rules = Plugins(), WorkerRules(group_id="workers")
        self.ignored = IgnoredSettings(
            lambda resolved, given: plugins.ignored(resolved, rules, given),
            lambda: list(self.given),
            lambda name: self.given.get(name, {}),
            AtOnce(),
            lambda: self.now,
        )

    def start(self, **more: str) -> None:
        self.given["lines"] = {**SINK, **more}
        self.ignored.starts("lines", self.given["lines"])

    def rows(self) -> list[Row]:
        return list(self.ignored.rows())


def test_settings_without_effect_have_one_row_for_their_connector() -> None:
    worker = Worker()
    worker.start()
    assert worker.rows() == []
    worker.start(fiel="x", colour="red")
    (row,) = worker.rows()
    assert (row.kind, row.connector, row.since_ms, row.step.action) == ("ignored", "lines", 7000, "configuration")
    assert row.why.startswith("fiel, colour have no effect")
    assert row.step.command == "penstock patch lines --unset=fiel --unset=colour"


def test_the_row_lasts_since_the_first_start_with_these_settings() -> None:
    worker = Worker()
    worker.start(colour="red")
    worker.now = 9.0
    worker.start(colour="blue")
    assert [row.since_ms for row in worker.rows()] == [7000]
    worker.start(colour="blue", size="big")
    assert [row.since_ms for row in worker.rows()] == [9000]


def test_the_row_ends_with_the_setting_and_with_the_connector() -> None:
    worker = Worker()
    worker.start(colour="red")
    worker.given["lines"] = SINK
    assert worker.rows() == [], "it has been changed, and starts soon"
    worker.start()
    assert worker.rows() == []
    worker.start(colour="red")
    worker.given = {}
    assert worker.rows() == []
    worker.given = {"lines": {**SINK, "colour": "red"}}
    assert worker.rows() == [], "it was forgotten: another worker runs it, or it was deleted"


def test_many_and_long_names_are_cut_off() -> None:
    worker = Worker()
    long = "x" * (MAX_LENGTH + 1)
    worker.start(**{long: "1"}, **{f"colour.{i}": "red" for i in range(9)})
    (row,) = worker.rows()
    assert row.why.startswith(f"{long[:MAX_LENGTH]}…, colour.0, ")
    assert " and 5 more have no effect" in row.why
    assert row.step.command == "penstock patch lines " + " ".join(f"--unset=colour.{i}" for i in range(4))


def test_a_connector_whose_plugins_fail_has_no_row() -> None:
    worker = Worker()
    worker.start(colour="red", **{"connector.class": "NoSuchSink"})
    assert worker.rows() == []
