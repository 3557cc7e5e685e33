"""Entries of the history topic: every change is written once, whichever worker leads."""

from __future__ import annotations

from penstock.core.group.membership import Assignment, Joined
from penstock.core.model.events import ConfigRead, StatusRead
from penstock.core.model.records import (
    ConfigRecord,
    ConfigTopicRecord,
    ConnectorConfig,
    RecordSkip,
    RestartRequest,
    TargetState,
    TaskStatus,
    TopicStatus,
)
from penstock.core.model.skips import Skip
from penstock.core.model.tasks import TaskId
from penstock.history.entries import ConnectorVersion, Entry, HistoryEvent
from penstock.history.recorder import Recorder
from penstock.kafka.storage.history import decode, encode

NOW = 10_000_000
DAY = 24 * 3_600_000


class Cluster:
    """Workers that observe the same topics; the leader writes, and all read."""

    def __init__(self, *names: str) -> None:
        self.workers = {name: Recorder(DAY) for name in names}
        self.topic: list[Entry] = []
        self.position = 0

    def config(self, *records: ConfigTopicRecord) -> None:
        entries = tuple(
            ConfigRecord(self.position + i, record, NOW + self.position + i) for i, record in enumerate(records)
        )
        self.position += len(records)
        for worker in self.workers.values():
            worker.observe(ConfigRead(entries), NOW)

    def status(self, *records: TaskStatus | TopicStatus) -> None:
        for worker in self.workers.values():
            worker.observe(StatusRead(records), NOW)

    def lead(self, name: str, read_by: tuple[str, ...] = ()) -> list[Entry]:
        """Make this worker the leader: it writes the entries that it considers due, and these workers (by default all)
        read them.
        """
        due = [decode(encode(entry)[1]) for entry in self.workers[name].due()]
        written = [entry for entry in due if entry is not None]
        self.topic += written
        for each in read_by or self.workers:
            self.workers[each].replay(written, NOW)
        return written

    def start(self, name: str) -> Recorder:
        worker = self.workers[name] = Recorder(DAY)
        worker.replay(self.topic, NOW)
        return worker


def shown(entries: list[Entry]) -> list[tuple[object, ...]]:
    return [(e.number, e.change, e.state, e.config, e.principal) for e in entries if isinstance(e, ConnectorVersion)]


def test_each_change_is_a_version_with_who_made_it() -> None:
    cluster = Cluster("a", "b")
    cluster.config(TargetState("c", "PAUSED"), ConnectorConfig("c", {"x": "1"}, "ann"))
    cluster.config(
        ConnectorConfig("c", {"x": "2"}, "bob"), ConnectorConfig("c", {"x": "2"}), TargetState("c", "STARTED")
    )
    cluster.config(ConnectorConfig("c", None, "bob"), TargetState("c", None), ConnectorConfig("c", {"x": "3"}))
    assert shown(cluster.lead("a")) == [
        (1, "created", "PAUSED", {"x": "1"}, "ann"),
        (2, "configuration", "PAUSED", {"x": "2"}, "bob"),
        (3, "state", "STARTED", {"x": "2"}, None),
        (4, "deleted", "STARTED", None, "bob"),
        (5, "created", "STARTED", {"x": "3"}, None),
    ]
    assert cluster.lead("a") == cluster.lead("b") == []


def test_a_skip_and_its_cancel_are_events_and_a_skip_that_has_taken_effect_is_none() -> None:
    cluster, skip, other = Cluster("a"), Skip("t", 1, 7, 9), Skip("t", 1, 20, 20)
    cluster.config(RecordSkip("c", skip, principal="ann"), RecordSkip("c", other, principal="ann"))
    cluster.config(RecordSkip("c", skip, over=True, principal="bob"), RecordSkip("c", other, over=True))
    events = [each for each in cluster.lead("a") if isinstance(each, HistoryEvent)]
    assert [(e.kind, e.topic, e.principal, e.details["first"], e.details.get("cancelled")) for e in events] == [
        ("skip", "t", "ann", 7, None),
        ("skip", "t", "ann", 20, None),
        ("skip", "t", "bob", 7, True),
    ]


def test_a_new_leader_writes_what_the_old_one_did_not_and_nothing_twice() -> None:
    cluster = Cluster("a", "b")
    cluster.config(ConnectorConfig("c", {"x": "1"}))
    cluster.lead("a")
    cluster.config(ConnectorConfig("c", {"x": "2"}), ConnectorConfig("d", {"y": "1"}))
    lost = cluster.workers["a"].due()  # and never written
    assert cluster.lead("b") == lost
    assert cluster.lead("a") == []


def test_entries_of_two_leaders_are_read_once() -> None:
    cluster = Cluster("a", "b")
    cluster.config(ConnectorConfig("c", {"x": "1"}), RestartRequest("c", principal="ann"))
    both = [*cluster.workers["a"].due(), *cluster.workers["b"].due()]
    assert len(both) == 4
    reader = Recorder(DAY)
    reader.replay(both, NOW)
    assert [version.number for version in reader.books.versions("c")] == [1]
    assert [(event.kind, event.principal) for event in reader.books.events("c")] == [("restart", "ann")]


def test_it_begins_with_what_a_java_cluster_has_and_a_restart_adds_nothing() -> None:
    compacted = ConfigRead(
        (ConfigRecord(40, ConnectorConfig("c", {"x": "9"}), NOW - 5), ConfigRecord(41, TargetState("c", "PAUSED"), NOW))
    )
    first = Recorder(DAY)
    first.observe(compacted, NOW)
    found = first.due()
    assert shown(found) == [(1, "created", "STARTED", {"x": "9"}, None), (2, "state", "PAUSED", {"x": "9"}, None)]
    assert [entry.time_ms for entry in found] == [NOW - 5, NOW]
    for order in (("topic", "history"), ("history", "topic")):
        again = Recorder(DAY)
        for step in order:
            again.observe(compacted, NOW) if step == "topic" else again.replay(found, NOW)
        assert again.due() == []


def test_a_config_topic_that_was_made_again_continues_the_history() -> None:
    cluster = Cluster("a")
    cluster.position = 100
    cluster.config(ConnectorConfig("c", {"x": "1"}))
    cluster.lead("a")
    cluster.workers["a"].observe(ConfigRead((ConfigRecord(0, ConnectorConfig("c", {"x": "2"}), NOW + 999),)), NOW)
    assert shown(cluster.lead("a")) == [(2, "configuration", "STARTED", {"x": "2"}, None)]


def status(state: str | None, at: int, generation: int = 1, trace: str | None = None) -> TaskStatus:
    return TaskStatus(TaskId("c", 0), state, "w", generation, trace, None, NOW + at)  # type: ignore[arg-type]


def test_states_topics_and_rebalances_are_events() -> None:
    cluster = Cluster("a", "b")
    cluster.status(status("RUNNING", 1), TopicStatus("t", "c", 0, NOW + 2), status("RUNNING", 3, generation=2))
    cluster.status(status("FAILED", 4, trace="KeyError: 7\n  at line 1"), status("RUNNING", 5))
    joined = Joined(7, "a-1", 2, Assignment(connectors=("c",)), True)
    cluster.workers["a"].observe(joined, NOW + 6)
    cluster.lead("a")
    expected = ["RUNNING", "t", "FAILED", "RUNNING", "rebalance"]
    for name in ("a", "b"):
        events = cluster.workers[name].books.events("c")
        assert [event.state or event.topic or event.kind for event in events] == expected, name
        assert events[2].reason == "KeyError: 7\n  at line 1"
    late = cluster.start("c")
    late.observe(StatusRead((status("RUNNING", 5), TopicStatus("t", "c", 0, NOW + 2))), NOW)
    assert late.due() == []
    late.observe(StatusRead((status("FAILED", 9),)), NOW)
    assert [entry.state for entry in late.due() if isinstance(entry, HistoryEvent)] == ["FAILED"]


def test_a_task_that_is_gone_is_an_event_once_and_its_next_run_another() -> None:
    cluster = Cluster("a")
    cluster.status(status(None, 1))
    assert cluster.lead("a") == [], "nobody has known it"
    cluster.status(status("RUNNING", 2), status(None, 3), status(None, 4), status("RUNNING", 5))
    cluster.lead("a")
    assert [event.state for event in cluster.workers["a"].books.events("c")] == ["RUNNING", "DESTROYED", "RUNNING"]
    late = cluster.start("b")
    late.observe(StatusRead((status("RUNNING", 5),)), NOW)
    assert late.due() == []


def test_entries_older_than_the_retention_are_dropped_except_the_last_version() -> None:
    worker = Recorder(DAY)
    worker.observe(ConfigRead((ConfigRecord(0, ConnectorConfig("c", {"x": "1"}), NOW),)), NOW)
    worker.observe(StatusRead((status("RUNNING", 1),)), NOW)
    worker.replay(worker.due(), NOW)
    worker.observe(ConfigRead((ConfigRecord(1, ConnectorConfig("c", {"x": "2"}), NOW + 2 * DAY),)), NOW + 2 * DAY)
    worker.replay(worker.due(), NOW + 2 * DAY)
    assert [version.config for version in worker.books.versions("c")] == [{"x": "2"}]
    assert worker.books.events("c") == []
    worker.observe(StatusRead((status("RUNNING", 1),)), NOW + 2 * DAY)
    assert worker.due() == []


def test_halves_of_surrogate_pairs_are_written_and_read() -> None:
    version = ConnectorVersion("c", 1, 2, NOW, "created", "STARTED", {"file": "/data/\ud800"})
    event = HistoryEvent("c", 0, NOW, "state", state="FAILED", reason="FileNotFoundError: '/data/\udcff'")
    assert [decode(encode(entry)[1]) for entry in (version, event)] == [version, event]


def test_a_deleted_connector_is_forgotten_when_its_history_is_too_old() -> None:
    recorder = Recorder(DAY)

    def read(now: int, *records: ConfigTopicRecord) -> None:
        recorder.observe(ConfigRead(tuple(ConfigRecord(now + i, each, now) for i, each in enumerate(records))), now)
        recorder.replay(recorder.due(), now)

    read(NOW, ConnectorConfig("gone", {"x": "1"}), ConnectorConfig("kept", {"x": "1"}))
    recorder.observe(StatusRead((TaskStatus(TaskId("gone", 0), "RUNNING", "w:8083", 1, written_ms=NOW),)), NOW)
    read(NOW + 1, ConnectorConfig("gone", None))
    recorder.observe(StatusRead((TaskStatus(TaskId("gone", 0), None, written_ms=NOW + 1),)), NOW + 1)
    read(NOW + DAY, RestartRequest("kept"))
    assert set(recorder.books.of) == {"gone", "kept"}
    read(NOW + 2 * DAY, RestartRequest("kept"))
    assert set(recorder.books.of) == {"kept"}
    assert recorder._observed == {}
    assert [version.config for version in recorder.books.versions("kept")] == [{"x": "1"}]
    read(NOW + 2 * DAY + 1, ConnectorConfig("gone", {"x": "2"}))
    assert shown([*recorder.books.versions("gone")]) == [(1, "created", "STARTED", {"x": "2"}, None)]


def test_versions_are_known_before_they_are_written() -> None:
    """Every worker knows the version, so that a rollback right after a change undoes that change."""
    cluster = Cluster("a", "b")
    cluster.config(ConnectorConfig("c", {"x": "1"}))
    cluster.lead("a")
    cluster.config(ConnectorConfig("c", {"x": "2"}), ConnectorConfig("d", {"y": "1"}))
    for recorder in cluster.workers.values():
        assert [(each.number, each.config) for each in recorder.versions("c")] == [(1, {"x": "1"}), (2, {"x": "2"})]
        assert [each.number for each in recorder.versions("d")] == [1]
        assert recorder.versions("e") == []
    before = cluster.workers["b"].versions("c")
    cluster.lead("a")
    assert cluster.workers["b"].versions("c") == before
