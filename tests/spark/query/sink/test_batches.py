"""Positions from which a sink's batches continue if its target keeps offsets; without Kafka and Spark."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, cast

import pytest

from penstock.api.query import BatchVersion
from penstock.spark.query.sink.batches import Batches


class Keeper:
    """A target that keeps an offset for partition 0 of a topic."""

    def __init__(self, stored: int) -> None:
        self.stored = {("t", 0): stored}

    def committed_offsets(self) -> Mapping[tuple[str, int], int]:
        return dict(self.stored)

    def begin(self, version: BatchVersion, offsets: Mapping[tuple[str, int], int]) -> None:
        self.stored |= offsets


@pytest.mark.parametrize(("start", "level"), [(4, "INFO"), (7, None), (9, "DEBUG")])
def test_the_log_names_a_stored_offset_only_if_its_sink_goes_back_behind_it(
    caplog: pytest.LogCaptureFixture, start: int, level: str | None
) -> None:
    """The target's offset is behind the position whenever the last records made no rows."""
    none = cast(Any, None)
    batches, keeper = Batches("c", none, none, none, none), Keeper(7)
    batches.position = {("t", 0): start}
    with caplog.at_level(logging.DEBUG):
        batches._begin(keeper, BatchVersion("e", 1))
    found = [each.levelname for each in caplog.records if "though its target has stored 7" in each.message]
    assert found == ([] if level is None else [level])
    assert keeper.stored == {("t", 0): start}
