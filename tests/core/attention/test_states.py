"""Rows of the attention list from the states of connectors and tasks."""

from __future__ import annotations

from typing import Any

from penstock.core.attention.rows import KINDS, NextStep, Row, ordered, parse
from penstock.core.attention.states import Part, Watched, state_rows

NOW = 1_700_000_000_000
HOUR = 3_600_000


def watched(*parts: Part, name: str = "orders", target: str = "STARTED", tasks: int | None = None) -> Watched:
    count = sum(part.task is not None for part in parts) if tasks is None else tasks
    return Watched(name, target, count, parts, NOW - 2 * HOUR)


def running(task: int | None = None, trace: str | None = None, state: str = "RUNNING") -> Part:
    return Part(task, state, "one", trace, NOW - HOUR)


def rows(*connectors: Watched, members: tuple[str, ...] = ("one",)) -> list[Row]:
    return ordered(state_rows(connectors, members, NOW))


def short(found: list[Row]) -> list[tuple[Any, ...]]:
    return [(row.kind, row.connector, row.tasks, row.why) for row in found]


def test_a_healthy_connector_has_no_row() -> None:
    assert rows(watched(running(), running(0), running(1))) == []


def test_tasks_that_fail_alike_have_one_row_with_the_root_cause() -> None:
    trace = "org.apache.kafka.connect.errors.ConnectException: no\nCaused by: java.io.IOException: disk full\n\tat x"
    early = Part(0, "FAILED", "one", trace, NOW - 2 * HOUR)
    (row,) = rows(watched(running(), early, running(1, trace, "FAILED")))
    assert (row.kind, row.tasks, row.why) == ("failed", (0, 1), "java.io.IOException: disk full")
    assert (row.since_ms, row.worker) == (NOW - 2 * HOUR, "one")
    assert row.step.command == "penstock restart orders --include-tasks --only-failed"


def test_a_failed_row_says_when_the_policy_restarts() -> None:
    part = Part(None, "FAILED", "one", "java.io.IOException: no", NOW, NOW + HOUR)
    (row,) = rows(watched(part))
    assert row.why == "java.io.IOException: no. The restart policy restarts it at 2023-11-14T23:13:20Z"


def test_a_permanent_error_asks_for_another_configuration() -> None:
    trace = "org.apache.kafka.common.errors.SaslAuthenticationException: wrong password"
    (row,) = rows(watched(running(None, trace, "FAILED"), running(0)))
    assert (row.tasks, row.step.action) == ((), "configuration")


def test_a_failed_row_names_the_record_to_skip() -> None:
    failed = "org.apache.kafka.connect.errors.ConnectException: no\nCaused by: a.B: topic x, partition 1, offset 1\n"
    note = '\tIn a put of 1 record: topic orders.eu, partition 2, offset 17, key "topic y, partition 3, offset \\"4"\n'
    (row,) = rows(watched(running(), running(0, failed + note, "FAILED")))
    assert row.step.command == "penstock skip orders --topic=orders.eu --partition 2 --offset 17"
    stage = "\tIn stage VALUE_CONVERTER, class a.B, topic t, partition 0, offset 5\n"
    (row,) = rows(watched(running(), running(0, failed + stage, "FAILED")))
    assert row.step.command == "penstock skip orders --topic=t --partition 0 --offset 5"
    row_of = "\tIn the row of topic t, partition 0, offset 7\n"
    (row,) = rows(watched(running(), running(0, failed + row_of, "FAILED")))
    assert row.step.command == "penstock skip orders --topic=t --partition 0 --offset 7"
    several = "\tIn a put of 2 records: topic t, partition 0, offset 5; topic t, partition 1, offset 6\n"
    source = "\tIn stage VALUE_CONVERTER, class a.B, topic t, source partition {}, source offset {}\n"
    for other in (several, source):
        (row,) = rows(watched(running(), running(0, failed + other, "FAILED")))
        assert row.step.command == "penstock restart orders --include-tasks --only-failed"


def test_a_retrying_task_shows_cause_and_time_of_the_first_failure() -> None:
    trace = "Retrying automatically since 2023-11-14T20:00:00Z:\na.B: busy\nCaused by: c.D: no route to host\n"
    (row,) = rows(watched(running(), running(0, trace)))
    assert (row.kind, row.why, row.since_ms) == ("retrying", "c.D: no route to host", 1_699_992_000_000)


def test_a_retrying_query_shows_its_next_attempt() -> None:
    trace = (
        "Can't write. No table. Retrying for as long as errors.retry.timeout allows, "
        "since 2023-11-14T20:00:00Z, next at 2023-11-14T22:20:00Z"
    )
    (row,) = rows(watched(running(), running(0, trace)))
    assert row.why == "Can't write. No table. The next attempt is at 2023-11-14T22:20:00Z"
    assert (row.kind, row.since_ms) == ("retrying", 1_699_992_000_000)


def test_stalled_tasks_and_connectors() -> None:
    trace = "The task is stalled: put has not returned since 2023. It is at\n  line 7"
    found = rows(watched(running(None, "task_configs has not returned since 2023"), running(0, trace)))
    assert [(row.kind, row.tasks, row.why) for row in found] == [
        ("stalled", (), "task_configs has not returned since 2023"),
        ("stalled", (0,), "The task is stalled: put has not returned since 2023. It is at"),
    ]


def test_a_state_that_is_not_known_has_a_row() -> None:
    (row,) = rows(watched(running(), running(0, state="DREAMING")))
    assert (row.kind, row.tasks) == ("unknown", (0,))
    assert "DREAMING" in row.why


def test_a_connector_without_a_status_is_unknown() -> None:
    assert [row.kind for row in rows(watched(tasks=0))] == ["unknown"]


def test_a_running_connector_without_tasks() -> None:
    assert [row.kind for row in rows(watched(running()))] == ["no-tasks"]
    just = Part(None, "RUNNING", "one", None, NOW - 1000)
    assert rows(watched(just)) == []


def test_tasks_that_have_not_started() -> None:
    waits = Part(0, "UNASSIGNED", "one", "No slot of Spark is free\n", NOW - HOUR)
    soon = Part(1, "RESTARTING", "one", None, NOW - 1000)
    assert short(rows(watched(running(), waits, soon, tasks=3))) == [
        ("waiting", "orders", (2,), "No status of it has been reported"),
        ("waiting", "orders", (0,), "It is UNASSIGNED: No slot of Spark is free"),
    ]


def test_paused_and_stopped_come_last_with_the_time_of_the_request() -> None:
    stopped = watched(running(state="STOPPED"), name="a", target="STOPPED")
    paused = watched(running(state="PAUSED"), running(0, state="PAUSED"), name="b", target="PAUSED")
    failed = watched(running(state="FAILED"), name="c")
    found = rows(paused, stopped, failed)
    assert [(row.kind, row.connector) for row in found] == [("failed", "c"), ("stopped", "a"), ("paused", "b")]
    assert {row.since_ms for row in found[1:]} == {NOW - 2 * HOUR}
    assert found[1].step.command == "penstock resume a"


def test_work_on_a_worker_that_has_left_the_group_is_not_taken_for_running() -> None:
    found = rows(watched(running(), running(0)), members=("two",))
    assert [(row.kind, row.tasks, row.worker) for row in found] == [
        ("unreachable", (), "one"),
        ("unreachable", (0,), "one"),
    ]
    assert rows(watched(running(), running(0)), members=()) == []


def test_statuses_of_tasks_that_no_longer_exist_are_left_out() -> None:
    assert rows(watched(running(), running(0), running(1, "x", "FAILED"), tasks=1)) == []


def test_a_standstill_is_left_out_where_another_row_explains_it() -> None:
    still = Row("standstill", "it does not move", NextStep("look"), "orders")
    assert ordered([still]) == [still]
    assert ordered([still], lambda connector: connector == "orders") == []
    failed = Row("failed", "no", NextStep("restart"), "orders", (0,))
    assert ordered([still, failed]) == [failed]


def test_names_with_spaces_are_quoted_in_commands() -> None:
    (row,) = rows(watched(running(state="PAUSED"), name="lines out", target="PAUSED"))
    assert row.step.command == "penstock resume 'lines out'"


def test_rows_of_another_worker_are_read_back() -> None:
    given = [
        Row("standstill", "why", NextStep("do", "penstock x", "logs"), "orders", (1,), "two", NOW),
        *rows(watched()),
    ]
    assert parse([row.to_json() for row in given]) == given
    newer = {**given[0].to_json(), "kind": "newer"}
    assert [row.kind for row in parse([newer]) or ()] == ["unknown"]
    for wrong in (None, {}, [1], [{**newer, "since": "yesterday"}], [{**newer, "tasks": ["0"]}], [{**newer, "why": 1}]):
        assert parse(wrong) is None
    assert next(iter(KINDS)) == "failed"
