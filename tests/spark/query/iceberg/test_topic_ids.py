"""The IDs of topics beside the offsets of a mark: an offset is of the topic that has the ID."""

from __future__ import annotations

from pathlib import Path

from penstock.api.query import BatchVersion
from spark.query.iceberg import lake


def test_an_offset_that_a_run_begins_at_is_of_no_topic_of_an_earlier_id(tmp_path: Path) -> None:
    """The topic was deleted and created again: the new offset is none of the old topic. The next batch has the ID."""
    lake.made(tmp_path).write(1, 1, 2)
    run = lake.Run(tmp_path)
    run.commits.claim(BatchVersion(lake.EPOCH, 1), {("flights", 0): 0})
    mark = run.known().mark
    assert mark is not None
    assert (mark.offsets, mark.topics) == ({("flights", 0): 0}, {})
    run.write(2, 3)
    mark = run.known().mark
    assert mark is not None
    assert mark.topics == {"flights": "topic-id"}


def test_a_run_that_goes_on_keeps_the_ids(tmp_path: Path) -> None:
    lake.made(tmp_path).write(1, 1)
    mark = lake.Run(tmp_path).claim(1).known().mark
    assert mark is not None
    assert mark.topics == {"flights": "topic-id"}
