"""What the worker does with offsets, over topics in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.kafka.log.progress import OnDone
from penstock.kafka.offsets import source_connectors
from penstock.kafka.offsets.entries import OffsetEntries
from penstock.worker.offsets import Offsets

WORKER = {"bootstrap.servers": "k:9092", "offset.storage.topic": "shared", "group.id": "g"}
OWN = {"connector.class": "X", "offsets.storage.topic": "own"}
PLACE = {"f": "a"}


class Topic:
    """An offsets topic, which may be opened more than once."""

    def __init__(self) -> None:
        self.log: list[tuple[bytes, bytes | None]] = []

    def put(self, connector: str, offset: dict[str, Any] | None) -> None:
        self.log += OffsetEntries().encode(connector, [(PLACE, offset)])


class Store:
    """``OffsetStore``: one reader and writer of a topic."""

    def __init__(self, topic: Topic, on_caught_up: Callable[[], None] = lambda: None) -> None:
        self._topic, self._entries, self._on_caught_up, self._read = topic, OffsetEntries(), on_caught_up, 0

    def start(self) -> None:
        self.read_to_end(lambda error: self._on_caught_up())

    def close(self) -> None: ...

    def read_to_end(self, on_done: OnDone) -> None:
        self._entries.put(list(self._topic.log[self._read :]))
        self._read = len(self._topic.log)
        on_done(None)

    def snapshot(self, connector: str) -> list[Any]:
        return self._entries.snapshot(connector)

    def write(self, connector: str, changes: Any, on_done: OnDone) -> None:
        self._topic.log += self._entries.encode(connector, changes)
        self.read_to_end(on_done)


@pytest.fixture
def shared() -> Topic:
    return Topic()


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Topic:
    topic = Topic()
    monkeypatch.setattr(
        source_connectors,
        "connector_offsets",
        lambda worker, connector, name, on_caught_up, on_failed: Store(topic, on_caught_up),
    )
    return topic


def offsets_of(shared: Topic) -> Offsets:
    return Offsets(WORKER, Store(shared), None, dict, None)  # type: ignore[arg-type]


def for_task(offsets: Offsets, config: dict[str, str]) -> list[Any]:
    return [offset for _, offset, _ in offsets.for_task("c", config)]


def test_a_connector_that_gets_an_own_topic_goes_on_from_what_its_old_tasks_commit_last(
    shared: Topic, own: Topic
) -> None:
    """Its new run reads offsets while old tasks still commit to the worker's topic."""
    offsets = offsets_of(shared)
    shared.put("c", {"p": 1})
    assert for_task(offsets, OWN) == [{"p": 1}]
    assert own.log == []
    shared.put("c", {"p": 2})
    assert for_task(offsets, OWN) == [{"p": 2}]
    own.put("c", {"p": 3})
    assert for_task(offsets, OWN) == [{"p": 3}]
