"""The ids of group members that tasks have been, as a worker keeps them for its cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.api.origin import is_origin
from penstock.kafka.group.member_log import MAX_IDS, MemberLog, MemberMemory, StoredMembers
from penstock.kafka.offsets.file import OffsetFile
from support.waiting import SECONDS, until


def opened(path: Path) -> OffsetFile:
    file = OffsetFile(path)
    file.start()
    return file


def test_a_worker_that_starts_again_knows_the_members_of_its_cluster_alone(tmp_path: Path) -> None:
    store = opened(tmp_path / "offsets")
    ours, theirs = StoredMembers(store, "ours"), StoredMembers(store, "theirs")
    for log, task, id in ((ours, 0, "a"), (ours, 0, "b"), (ours, 1, "c"), (theirs, 0, "d")):
        log.add("sink", task, id)
    until(lambda: len(theirs.ids("sink", 0)) == 1 and len(ours.ids("sink", 0)) == 2, "the ids", SECONDS)
    until(lambda: len(opened(tmp_path / "offsets").snapshot("")) == 3, "the ids of three tasks", SECONDS)
    again = StoredMembers(opened(tmp_path / "offsets"), "ours")
    assert again.ids("sink", 0) == {"a", "b"}
    assert again.ids("sink", 1) == {"c"}
    assert again.ids("another", 0) == again.ids("sink", 2) == frozenset()
    assert all(is_origin(each.partition) for each in store.snapshot(""))
    assert store.snapshot("sink") == [], "as in Java, a sink has no records in the offsets topic"


@pytest.mark.parametrize("kind", ["stored", "memory"])
def test_the_last_ids_of_a_task_are_kept(tmp_path: Path, kind: str) -> None:
    log: MemberLog = StoredMembers(opened(tmp_path / "offsets"), "") if kind == "stored" else MemberMemory()
    for n in range(MAX_IDS + 3):
        log.add("sink", 0, f"id-{n}")
        until(lambda n=n: f"id-{n}" in log.ids("sink", 0), "the id", SECONDS)
    last = {f"id-{n}" for n in range(3, MAX_IDS + 3)}
    until(lambda: log.ids("sink", 0) == last, "the last ids", SECONDS)
    assert log.ids("sink", 0) == last


def test_an_id_that_cannot_be_stored_is_no_failure_and_is_known_to_this_worker(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = StoredMembers(OffsetFile(tmp_path / "no folder" / "offsets"), "")
    log.add("sink", 0, "a")
    until(lambda: "group member of task sink-0 could not be noted" in caplog.text, "the warning", SECONDS)
    assert log.ids("sink", 0) == {"a"}
