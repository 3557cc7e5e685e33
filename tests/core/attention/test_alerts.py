"""Alerts: when their messages are due."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.core.attention.alerts import (
    GIVE_UP_MS,
    MAX_KNOWN,
    MAX_OPEN,
    UPGRADE_MS,
    Alert,
    Alerts,
    Settling,
    WorkerRows,
    alert_of,
    rows_of,
)
from penstock.core.attention.flapping import End
from penstock.core.attention.rows import NextStep, Row

SETTLE, TAKEOVER = 60_000, 300_000
STEP = NextStep("Look", "penstock status orders", "overview")


def row(kind: str, connector: str | None = "orders", *tasks: int, why: str = "why", worker: str | None = None) -> Row:
    return Row(kind, why, STEP, connector, tasks, worker, 5_000)


class Group:
    """A leader's alerts with a clock, and the messages that a receiver has accepted."""

    def __init__(self) -> None:
        self.alerts = Alerts("connect", SETTLE, TAKEOVER)
        self.now = 1_000_000
        self.messages: list[tuple[str, str, str | None]] = []
        self.ids: list[str] = []
        self.stored: list[Alert] = []

    def look(self, *rows: Row, after: int = 0, settled: bool = True, failures: dict | None = None) -> None:
        self.now += after
        self.stored += self.alerts.look(rows, failures or {}, self.now, settled)
        for alert in self.alerts.due():
            due = alert
            while due.is_due:
                said = due.message("connect")
                self.messages.append((said["event"], said["kind"], said["connector"]))
                self.ids.append(said["id"])
                due = replace(due, closed=True) if due.told else replace(due, told=True)
                self.alerts.replay(due, self.now)
                self.stored.append(due)


@pytest.fixture
def group() -> Group:
    return Group()


def test_a_failure_is_told_at_once_and_its_end_once_it_has_lasted(group: Group) -> None:
    for _ in range(3):
        group.look(row("failed", "orders", 0), after=10_000)
    assert group.messages == [("begin", "failed", "orders")]
    group.look(after=10_000)
    group.look(after=SETTLE - 1)
    assert len(group.messages) == 1
    group.look(after=1)
    assert group.messages[1:] == [("end", "failed", "orders")]
    assert group.ids[0] == group.ids[1]
    group.look(row("failed", "orders", 0), after=10_000)
    assert len(group.messages) == 3
    assert group.ids[2] != group.ids[0]


def test_a_cause_that_comes_back_before_it_has_been_gone_for_long_is_the_same(group: Group) -> None:
    group.look(row("failed"))
    for _ in range(5):
        group.look(after=SETTLE // 2)
        group.look(row("failed"), after=SETTLE // 4)
    assert len(group.messages) == 1


def test_other_kinds_must_last_first(group: Group) -> None:
    group.look(row("behind", why="1,234 records wait"))
    group.look(row("behind", why="2,345 records wait"), after=SETTLE - 1)
    assert group.messages == []
    group.look(after=1)
    group.look(row("behind", why="3,456 records wait"), after=1)
    group.look(row("behind", why="4,567 records wait"), after=SETTLE)
    assert group.messages == [("begin", "behind", "orders")]


def test_a_pause_and_a_stop_are_not_told(group: Group) -> None:
    for _ in range(3):
        group.look(row("paused"), row("stopped", "other"), after=10 * SETTLE)
    assert group.messages == []


def test_a_rebalance_is_silent_but_for_failures(group: Group) -> None:
    group.look(row("behind"))
    group.look(row("behind"), after=10 * SETTLE, settled=False)
    assert group.messages == []
    group.look(row("behind"), row("failed", "other"), after=SETTLE, settled=False)
    assert group.messages == [("begin", "failed", "other")]
    group.look(after=10 * SETTLE, settled=False)
    group.look(after=10 * SETTLE, settled=False)
    assert len(group.messages) == 1, "while workers restart, nothing is over"


def test_a_worker_that_restarts_is_silent_and_one_that_stays_away_is_not(group: Group) -> None:
    lost = row("unreachable", None, worker="one:8083"), row("waiting", "orders", 0)
    group.look(*lost)
    group.look(*lost, after=TAKEOVER + SETTLE - 1)
    assert group.messages == []
    group.look(*lost, after=1)
    assert [kind for _, kind, _ in group.messages] == ["unreachable", "waiting"]


def test_an_upgrade_worker_by_worker_is_silent(group: Group) -> None:
    group.look(row("versions", None))
    group.look(row("versions", None), after=UPGRADE_MS - 1)
    assert group.messages == []
    group.look(row("versions", None), after=1)
    assert group.messages == [("begin", "versions", None)]


def test_a_failure_that_a_restart_has_hidden_is_told(group: Group) -> None:
    hidden = {("orders", 0): [End(group.now - 5_000, "a.B: x\nCaused by: c.D: the disk is full")]}
    group.look(failures=hidden)
    assert group.messages == [("begin", "failed", "orders")]
    (alert,) = group.alerts.known.values()
    assert alert.row.why == "c.D: the disk is full"
    assert alert.row.tasks == (0,)
    group.look(failures=hidden, after=SETTLE)
    assert group.messages[1:] == [("end", "failed", "orders")]
    group.look(failures=hidden, after=SETTLE)
    assert len(group.messages) == 2


def test_failures_again_and_again_are_one_alert(group: Group) -> None:
    ends: list[End] = []
    for _ in range(6):
        ends.append(End(group.now, "a.B: x"))
        group.look(failures={("orders", 0): ends}, after=SETTLE // 2)
    assert group.messages == [("begin", "failed", "orders")]
    group.look(failures={("orders", 0): ends}, after=SETTLE)
    assert group.messages[1:] == [("end", "failed", "orders")]


def test_a_failure_with_a_row_is_told_once(group: Group) -> None:
    ends = {("orders", 0): [End(group.now - 20, "a.B: the disk is full")]}
    group.look(row("failed", "orders", 0, why="a.B: the disk is full"), failures=ends)
    group.look(row("failed", "orders", 0, why="a.B: the disk is full"), failures=ends, after=10_000)
    assert len(group.messages) == 1


def test_tasks_with_one_cause_are_one_alert_and_another_cause_is_another(group: Group) -> None:
    group.look(row("failed", "orders", 0, why="disk 1 is full"))
    group.look(row("failed", "orders", 0, 1, why="disk 2 is full"), after=10_000)
    group.look(row("failed", "orders", 1, why="disk 2 is full"), after=10_000)
    assert len(group.messages) == 1
    group.look(row("failed", "orders", 1, why="disk 2 is full"), row("failed", "orders", 2, why="no login"), after=1)
    assert len(group.messages) == 2


def test_rows_about_two_workers_are_two_alerts(group: Group) -> None:
    rows = [row("expiring", None, worker=worker) for worker in ("one", "two")]
    group.look(*rows)
    group.look(*rows, after=SETTLE)
    assert [event for event, _, _ in group.messages] == ["begin", "begin"]


def test_the_next_leader_sends_what_is_missing_and_nothing_twice(group: Group) -> None:
    group.look(row("failed", "told"))
    group.stored += group.alerts.look([row("failed", "told"), row("failed", "untold")], {}, group.now, True)
    successor = Group()
    successor.now = group.now
    for alert in [*group.stored, *group.stored[::-1]]:
        successor.alerts.replay(alert, group.now)
    successor.look(row("failed", "told"), row("failed", "untold"), settled=False)
    assert successor.messages == [("begin", "failed", "untold")]
    assert successor.ids == [alert.id for alert in group.alerts.known.values() if alert.row.connector == "untold"]
    successor.look(after=SETTLE)
    successor.look(after=SETTLE)
    assert sorted(successor.messages[1:]) == [("end", "failed", "told"), ("end", "failed", "untold")]


def test_what_is_open_for_long_is_stored_again(group: Group) -> None:
    group.look(row("failed"))
    before = len(group.stored)
    group.look(row("failed"), after=24 * 60 * 60_000)
    assert len(group.stored) == before + 1
    assert len(group.messages) == 1


def test_alerts_are_bounded_and_those_that_nobody_accepts_are_given_up() -> None:
    alerts = Alerts("connect", SETTLE)
    rows = [row("failed", f"c{number}") for number in range(MAX_OPEN + 5)]
    alerts.look(rows, {}, 1_000, True)
    assert len(alerts.due()) == MAX_OPEN
    alerts.look([], {}, 2_000, True)
    alerts.look([], {}, 2_000 + SETTLE, True)
    assert len(alerts.due()) == MAX_OPEN, "both messages of each are still due"
    alerts.look([], {}, 2_000 + SETTLE + GIVE_UP_MS, True)
    assert alerts.known == {}


def test_records_are_read_as_they_were_written_and_others_are_refused() -> None:
    alert = Alert("a1", replace(row("failed", "orders", 0), since_ms=5_000), 7, 8, told=True, stored_ms=9)
    assert alert_of(alert.record()) == alert
    answer = {"worker_id": "one:8083", "version": "1", "rows": [row("behind").to_json()], "busy": ["orders"]}
    rows = WorkerRows("one:8083", 7, answer)
    assert rows_of(rows.record()) == rows
    for record in ({}, None, {**alert.record(), "row": {}}, {**alert.record(), "told": 1}):
        with pytest.raises(ValueError):
            alert_of(record)
    for record in ({}, {**rows.record(), "worker": "two"}, {**rows.record(), "answer": {**answer, "busy": [1]}}):
        with pytest.raises(ValueError):
            rows_of(record)


def test_messages_have_the_fields_of_the_row() -> None:
    shown = replace(row("failed", "orders", 0), since_ms=0)
    begin = Alert("a1", shown, 60_000)
    said = begin.message("connect")
    assert {name: said[name] for name in shown.to_json()} == shown.to_json()
    assert (said["event"], said["begun"], said["ended"]) == ("begin", "1970-01-01T00:01:00Z", None)
    assert said["text"] == "failed orders: why"
    over = replace(begin, told=True, ended_ms=120_000).message("connect")
    assert (over["id"], over["event"], over["ended"]) == ("a1", "end", "1970-01-01T00:02:00Z")
    assert over["text"] == "Over: failed orders: why"


def test_a_group_is_settled_some_time_after_a_rebalance_and_when_it_never_comes_to_rest() -> None:
    settling = Settling(SETTLE, 10 * SETTLE)
    assert not settling.look(1, False, 1_000)
    assert not settling.look(1, False, 1_000 + SETTLE - 1)
    assert settling.look(1, False, 1_000 + SETTLE)
    now = 1_000 + 2 * SETTLE
    assert not settling.look(1, True, now), "a worker is awaited"
    assert [settling.look(number, False, now + number * SETTLE // 2) for number in range(2, 20)] == [False] * 18
    assert settling.look(20, False, now + 10 * SETTLE), "it has rebalanced for ten times as long"
    assert settling.look(20, False, now + 11 * SETTLE)
    assert not settling.look(21, False, now + 12 * SETTLE)


def test_a_cause_whose_words_change_all_the_time_is_told_once(group: Group) -> None:
    for number in range(20):
        why = f"RequestId a{number}f: {('Connection refused', 'Read timed out')[number % 2]}"
        group.look(row("retrying", "orders", 0, why=why), after=SETTLE // 3)
    assert group.messages == [("begin", "retrying", "orders")]


def test_many_causes_of_one_kind_do_not_hide_others(group: Group) -> None:
    many = [row("ignored", f"c{number}") for number in range(MAX_OPEN + 1)]
    group.look(*many)
    group.look(*many, after=SETTLE)
    assert len(group.messages) == MAX_OPEN
    assert group.alerts.left_out == 1
    group.look(*many, row("failed", "orders", 0), after=1)
    assert group.messages[-1] == ("begin", "failed", "orders")
    assert group.alerts.due() == []


def test_what_is_most_urgent_is_sent_first() -> None:
    alerts = Alerts("connect", 0)
    alerts.look([row("ignored", "a"), row("behind", "b"), row("failed", "c")], {}, 1_000, True)
    assert [alert.row.kind for alert in alerts.due()] == ["failed", "behind", "ignored"]


def test_another_cause_of_the_same_kind_is_told(group: Group) -> None:
    for first, second in (
        ("The certificate of a expires in 29 days", "The certificate of b expired"),
        ("Executors lack pyarrow", "Executors have another Python"),
    ):
        kind = "expiring" if "certificate" in first else "executors"
        group.look(row(kind, None, why=first))
        group.look(row(kind, None, why=first.replace("29", "28")), after=SETTLE)
        both = row(kind, None, why=first.replace("29", "27")), row(kind, None, why=second)
        group.look(*both, after=SETTLE)
        group.look(*both, after=SETTLE)
        assert [event for event, said, _ in group.messages if said == kind] == ["begin", "begin"]


def test_tasks_that_a_policy_restarts_have_one_cause(group: Group) -> None:
    policy = "the disk is full. The restart policy restarts it at 2026-11-30T20:14:05Z"
    hidden = {("orders", 1): [End(group.now - 10, "a.B: x\nCaused by: the disk is full")]}
    group.look(row("failed", "orders", 0, why=policy), failures=hidden)
    assert group.messages == [("begin", "failed", "orders")]


def test_a_pause_neither_ends_nor_begins_anything(group: Group) -> None:
    group.look(row("missing-topics"))
    group.look(row("missing-topics"), after=SETTLE)
    assert group.messages == [("begin", "missing-topics", "orders")]
    for _ in range(5):
        group.now += SETTLE
        assert group.alerts.look([row("paused")], {}, group.now, True, lambda name: name == "orders") == []
    group.look(row("missing-topics"), after=SETTLE)
    group.look(row("missing-topics"), after=SETTLE)
    assert len(group.messages) == 1
    group.look(after=SETTLE)
    group.look(after=SETTLE)
    assert group.messages[1:] == [("end", "missing-topics", "orders")]


def test_alerts_that_nobody_accepts_have_a_limit() -> None:
    alerts, now = Alerts("connect", 0), 0
    for number in range(MAX_KNOWN // 250 + 10):
        alerts.look([row("failed", f"c{number}-{each}") for each in range(250)], {}, now + 1, True)
        alerts.look([], {}, now + 2, True)
        now += 3
    alerts.look([row("failed", "last")], {}, now, True)
    assert len(alerts.known) <= MAX_KNOWN + 251
    assert alerts.given_up >= 8 * 250
    assert any(alert.row.connector == "last" for alert in alerts.due())
