"""Entries of a Delta table's log that set it back, without Spark."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.spark.query.sink.tables.set_back import SetBack, set_back

OTHER: dict[str, Any] = {"commitInfo": {"operation": "WRITE", "operationParameters": {"mode": "Append"}}}


def batch(number: int, application: str = "c-e") -> dict[str, Any]:
    return {"txn": {"appId": application, "version": number, "lastUpdated": 1}}


def restored(version: int | None) -> dict[str, Any]:
    parameters = {"version": None if version is None else str(version), "timestamp": None if version else "2026"}
    return {"commitInfo": {"operation": "RESTORE", "operationParameters": parameters}}


def judged(*entries: dict[str, Any] | None, number: int = 2) -> SetBack | None:
    """Return what set back a table whose versions have these entries; None: it is not in the log any more."""
    return judged_by_lines(
        *(None if each is None else [each, {"add": {"path": "x"}}] for each in entries), number=number
    )


def judged_by_lines(*entries: list[dict[str, Any]] | None, number: int = 2) -> SetBack | None:
    def entry(version: int) -> str | None:
        actions = entries[version]
        if actions is None:
            return None
        return "".join(json.dumps(action, ensure_ascii=False, separators=(",", ":")) + "\n" for action in actions)

    return set_back(entry, len(entries) - 1, "c-e", number)


def test_a_restore_to_before_a_batch_has_removed_it() -> None:
    assert judged(batch(1), batch(2), restored(0)) == SetBack(2, "RESTORE")
    assert judged(batch(1), batch(2), OTHER, restored(0), OTHER) == SetBack(3, "RESTORE")


def added(path: str) -> dict[str, Any]:
    return {"add": {"path": path, "stats": '{"minValues":{"text":"a\u2028b\u2029c\x85d"}}'}}


def removed(*paths: str) -> list[dict[str, Any]]:
    return [{"remove": {"path": path}} for path in paths]


def test_a_restore_to_a_time_is_judged_by_the_files_of_the_batch() -> None:
    written, other = [batch(2), added("two")], [OTHER, added("other")]
    kept = [restored(None), *removed("other")]
    assert judged_by_lines([batch(1)], written, other, kept) is None
    lost = [restored(None), *removed("other", "two")]
    assert judged_by_lines([batch(1)], written, other, lost) == SetBack(3, "RESTORE")
    assert judged_by_lines([batch(1)], written, other, lost, other) == SetBack(3, "RESTORE")


def test_a_batch_whose_files_were_rewritten_before_a_restore_to_a_time_counts_as_removed() -> None:
    rewritten = [{"commitInfo": {"operation": "OPTIMIZE"}}, *removed("two"), added("both")]
    back = [restored(None), *removed("both")]
    assert judged_by_lines([batch(1)], [batch(2), added("two")], rewritten, back) == SetBack(3, "RESTORE")


def test_statistics_may_hold_separators_of_lines() -> None:
    assert judged_by_lines([batch(1)], [added("one"), batch(2)], [OTHER, added("two")]) is None
    assert judged_by_lines([batch(1)], [added("one"), batch(2)], [restored(0), added("two")]) == SetBack(2, "RESTORE")


def test_a_restore_to_a_later_version_has_not() -> None:
    assert judged(batch(1), batch(2), OTHER, restored(1)) is None
    assert judged(batch(1), batch(2), OTHER, OTHER, restored(2)) is None


def test_a_restore_that_was_taken_back_has_not() -> None:
    assert judged(batch(1), batch(2), restored(0), restored(1)) is None
    assert judged(batch(1), batch(2), restored(0), OTHER, restored(3)) == SetBack(2, "RESTORE")


def test_a_batch_after_the_restore_is_there() -> None:
    assert judged(batch(1), restored(0), batch(2)) is None


@pytest.mark.parametrize("operation", ["CREATE OR REPLACE TABLE", "CLONE", "REPLACE TABLE AS SELECT"])
def test_a_table_that_was_replaced_has_none_of_its_batches(operation: str) -> None:
    replaced = {"commitInfo": {"operation": operation}}
    assert judged(batch(1), batch(2), OTHER, replaced) == SetBack(3, operation)


def test_batches_of_others_do_not_count() -> None:
    assert judged(batch(2), batch(2, "d-e"), restored(0)) is None
    assert judged(batch(2, "c-e"), OTHER, batch(2, "c-other")) is None


def test_a_batch_that_is_older_than_the_log_was_not_removed() -> None:
    assert judged(None, None, OTHER, restored(2)) is None
    assert judged(None, OTHER, OTHER) is None
    assert judged(None, OTHER, restored(None)) is None


def test_a_batch_that_is_older_than_the_log_was_removed_when_the_table_was_replaced() -> None:
    replaced = {"commitInfo": {"operation": "CREATE OR REPLACE TABLE AS SELECT"}}
    assert judged(None, None, OTHER, replaced, OTHER) == SetBack(3, "CREATE OR REPLACE TABLE AS SELECT")
    assert judged(None, OTHER, replaced, restored(1)) is None
