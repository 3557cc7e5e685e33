"""The worker's operations on offsets, with topics in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from penstock.api.connector import Connector, SinkConnector, SourceConnector
from penstock.api.errors import ConnectError
from penstock.api.origin import origin_partition
from penstock.core.config.overrides import NONE
from penstock.core.config.permissions.clients import check_clients
from penstock.core.model.actions import FenceProducers, WriteOffsets
from penstock.core.model.events import Completed
from penstock.core.model.messages import OffsetChanges, Refused
from penstock.http.access.tls import client_context
from penstock.java import key_stores
from penstock.kafka.background import Deadline
from penstock.kafka.log.progress import OnDone
from penstock.kafka.offsets import source_connectors
from penstock.kafka.offsets.entries import OffsetEntries
from penstock.plugins import Plugins
from penstock.worker.background import Background
from penstock.worker.offsets import OffsetsAccess
from support.waiting import until

WORKER = {"bootstrap.servers": "k:9092", "offset.storage.topic": "shared", "group.id": "g"}
OWN = {"connector.class": "X", "offsets.storage.topic": "own"}
PLACE = {"f": "a"}


class Topic:
    """An offsets topic, which may be opened more than once."""

    def __init__(self) -> None:
        self.log: list[tuple[bytes, bytes | None]] = []

    def put(self, connector: str, offset: dict[str, Any] | None, place: Mapping[str, Any] | None = PLACE) -> None:
        self.log += OffsetEntries().encode(connector, [(place, offset)])


class Store:
    """Stands for an ``OffsetStore``, one reader and writer of a topic."""

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

    def partitions(self, connector: str) -> list[dict[str, Any]]:
        return self._entries.partitions(connector)

    def deleted(self, connector: str) -> frozenset[bytes]:
        return self._entries.deleted(connector)

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
        lambda worker, connector, name, on_caught_up, **others: Store(topic, on_caught_up),
    )
    return topic


class Kinds:
    """Stands for plugins."""

    def kind(self, config: Mapping[str, str]) -> str:
        return "sink" if "topics" in config else "source"


def allowed(config: Mapping[str, str], clients: Collection[str]) -> None:
    pass


def offsets_of(
    shared: Topic, new: Callable[[Mapping[str, str]], Connector] | None = None, check: Any = allowed
) -> OffsetsAccess:
    return OffsetsAccess(WORKER, Store(shared), Kinds(), dict, new, check)  # type: ignore[arg-type]


def for_task(offsets: OffsetsAccess, config: dict[str, str]) -> list[Any]:
    return [each.offset for each in offsets.for_task("c", config)]


def test_a_connector_that_gets_an_own_topic_goes_on_from_what_its_old_tasks_commit_last(
    shared: Topic, own: Topic
) -> None:
    """The new run reads offsets while old tasks still commit to the worker's topic."""
    offsets = offsets_of(shared)
    shared.put("c", {"p": 1})
    assert for_task(offsets, OWN) == [{"p": 1}]
    assert own.log == []
    shared.put("c", {"p": 2})
    assert for_task(offsets, OWN) == [{"p": 2}]
    own.put("c", {"p": 3})
    assert for_task(offsets, OWN) == [{"p": 3}]


def test_only_the_source_sees_the_offset_of_its_partition_null(shared: Topic) -> None:
    """In Java a reset leaves it too."""
    go = threading.Event()
    go.set()
    offsets, config = offsets_of(shared, lambda config: SlowSource(go)), {"connector.class": "X"}
    shared.put("c", {"p": 1}, place=None)
    shared.put("c", {"p": 2})
    assert offsets.read("c", config) == [{"partition": PLACE, "offset": {"p": 2}}]
    offsets.write("c", config, None)
    assert for_task(offsets, config) == [{"p": 1}]


def test_offsets_of_the_runtime_itself_are_not_shown_and_are_reset_with_the_others(shared: Topic) -> None:
    go = threading.Event()
    go.set()
    offsets, config = offsets_of(shared, lambda config: SlowSource(go)), {"connector.class": "X"}
    one, other = origin_partition("file", f="a"), origin_partition("file", f="b")
    for place in (PLACE, {"f": "b"}):
        shared.put("c", {"p": 1}, place)
    for place in (one, other):
        shared.put("c", {"checksum": 1}, place)
    shown = [{"partition": {"f": name}, "offset": {"p": 1}} for name in ("a", "b")]
    assert sorted(offsets.read("c", config), key=str) == shown
    offsets.write("c", config, ((PLACE, {"p": 2}),))
    assert [each.partition for each in offsets.for_task("c", config)] == [PLACE, {"f": "b"}, one, other]
    offsets.write("c", config, None)
    assert for_task(offsets, config) == []


def test_an_offset_that_a_task_has_deleted_does_not_come_back_from_the_workers_topic(shared: Topic, own: Topic) -> None:
    """The task's process ended before the deletion was copied there."""
    go = threading.Event()
    go.set()
    offsets = offsets_of(shared, lambda config: SlowSource(go))
    shared.put("c", {"p": 1})
    own.put("c", {"p": 1})
    own.put("c", None)
    assert for_task(offsets, OWN) == []
    offsets.write("c", OWN, None)
    assert for_task(offsets, {"connector.class": "X"}) == []
    own.put("c", {"p": 2})
    assert for_task(offsets, OWN) == [{"p": 2}]


@pytest.mark.parametrize("config", [OWN, {"connector.class": "X"}], ids=["own topic", "worker's topic"])
def test_an_offset_that_can_not_be_read_is_left_out_until_it_is_reset(
    shared: Topic, own: Topic, config: dict[str, str]
) -> None:
    """Java logs it as critical."""
    go = threading.Event()
    go.set()
    offsets, topic = offsets_of(shared, lambda config: SlowSource(go)), own if config is OWN else shared
    topic.put("c", {"p": 1})
    topic.log.append((b'["c",{"n":1}]', b"no JSON"))
    assert for_task(offsets, config) == [{"p": 1}]
    assert offsets.read("c", config) == [{"partition": PLACE, "offset": {"p": 1}}]
    offsets.write("c", config, None)
    assert (b'["c",{"n":1}]', None) in topic.log
    assert for_task(offsets, config) == []


def test_offsets_of_a_connector_without_its_class_are_refused(shared: Topic) -> None:
    """An empty list would mean that it has none."""
    offsets = OffsetsAccess(WORKER, Store(shared), Plugins(), dict, None, allowed)  # type: ignore[arg-type]
    with pytest.raises(Refused, match="Failed to find any class that implements Connector and which name matches Gone"):
        offsets.read("c", {"connector.class": "Gone", "topics": "t"})


def test_the_plugin_is_not_asked_about_a_list_in_a_partition_whose_offset_has_a_field_of_that_name(
    shared: Topic,
) -> None:
    asked: list[Any] = []

    class Asked(SourceConnector):
        def alter_offsets(self, config: Any, offsets: Any) -> bool:
            asked.append(offsets)
            return True

    offsets = offsets_of(shared, lambda config: Asked())
    with pytest.raises(Refused, match="but field f contains ARRAY"):
        offsets.write("c", {"connector.class": "X"}, (({"f": ["a"]}, {"f": 1}),))
    assert (asked, shared.log) == ([], [])


class Slow:
    """A plugin that decides on offsets after the client has been answered."""

    def __init__(self, go: threading.Event) -> None:
        self.go = go

    def alter_offsets(self, config: Any, offsets: Any) -> bool:
        return self.go.wait()


class SlowSource(Slow, SourceConnector):  # type: ignore[misc]
    pass


class SlowSink(Slow, SinkConnector):  # type: ignore[misc]
    pass


TOO_LATE = "Nothing is changed any more: the request for it has been given up."


def given_up(
    ask: WriteOffsets | FenceProducers, go: threading.Event, offsets: Any = None, fence: Any = None
) -> list[str]:
    """Return the errors of a request whose plugin returns after the client has received the first; the herder ignores
    the second.
    """
    outcomes: list[Completed] = []
    with ThreadPoolExecutor() as threads:
        background = Background(
            threads,
            outcomes.append,
            validate=lambda config: None,
            offsets=offsets,
            fence=fence,
            skip=lambda ask: (),
            tls=client_context({}, key_stores),
            timeout=0.2,
        )
        background.do(ask)
        until(lambda: bool(outcomes), "the ask is given up")
        go.set()
    return [str(outcome.error) for outcome in outcomes]


@pytest.mark.parametrize("changes", [((PLACE, {"p": 2}),), ((PLACE, None),), None])
@pytest.mark.parametrize("config", [OWN, {"connector.class": "X"}])
def test_a_sources_offsets_are_not_written_after_the_client_has_got_an_error(
    shared: Topic, own: Topic, config: dict[str, str], changes: OffsetChanges | None
) -> None:
    go = threading.Event()
    shared.put("c", {"p": 1})
    own.put("c", {"p": 1})
    errors = given_up(
        WriteOffsets("c", config, changes, token=1), go, offsets_of(shared, lambda config: SlowSource(go))
    )
    assert errors[1:] == [TOO_LATE]
    assert (len(shared.log), len(own.log)) == (1, 1)


def test_a_sinks_offsets_are_not_written_after_the_client_has_got_an_error(shared: Topic) -> None:
    go, places = threading.Event(), (({"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": 1}),)
    errors = given_up(WriteOffsets("c", {}, places, token=1), go, offsets_of(shared, lambda config: SlowSink(go)))
    assert errors[1:] == [TOO_LATE]  # raised instead of changing the group


def test_tasks_are_not_fenced_after_their_fencing_has_failed() -> None:
    go, fenced = threading.Event(), list[str]()

    def fence(name: str, tasks: int, config: object, deadline: Deadline) -> None:
        go.wait()  # a config provider
        deadline.check()
        fenced.append(name)

    assert given_up(FenceProducers("c", 1, {}, token=1), go, fence=fence)[1:] == [TOO_LATE]
    assert fenced == []


SERVERS = "override.bootstrap.servers"


@pytest.mark.parametrize(
    ("kind", "config", "clients"),
    [
        (SlowSource, {}, ["producer"]),
        (SlowSource, {"offsets.storage.topic": "own"}, ["producer", "consumer", "admin"]),
        (SlowSink, {"topics": "t"}, ["consumer", "admin"]),
    ],
)
@pytest.mark.parametrize("client", ["producer", "consumer", "admin"])
def test_offsets_are_reached_with_overrides_only_that_are_allowed(
    shared: Topic, kind: Any, config: dict[str, str], clients: list[str], client: str
) -> None:
    """The present policy counts: the configuration may be older, or its tasks may not have that client."""
    asked: list[list[str]] = []

    def check(config: Mapping[str, str], prefixes: Collection[str]) -> None:
        asked.append(sorted(prefixes))
        check_clients(NONE, config, prefixes, source=True)
        raise ConnectError("nothing refused")

    offsets = offsets_of(shared, lambda config: kind(threading.Event()), check)
    given = {**config, f"{client}.{SERVERS}": "other:9092"}
    why = "The 'None' policy does not allow 'bootstrap.servers' to be overridden in the connector configuration."
    refusal = f"Client Config Overrides not allowed [[bootstrap.servers,other:9092,[],[{why}],true]]"
    for request in (lambda: offsets.read("c", given), lambda: offsets.write("c", given, None)):
        with pytest.raises(ConnectError) as caught:
            request()
        assert str(caught.value) == (refusal if client in clients else "nothing refused")
    assert asked == [sorted(f"{each}.override." for each in clients)] * 2
    assert shared.log == []
