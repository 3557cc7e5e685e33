"""Offsets at which a sink would begin after a reset: the first or last ones of its topics, or those of a time.

As ``kafka-consumer-groups --reset-offsets`` finds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka.admin import OffsetSpec

from penstock.core.attention.sinks import Partition
from penstock.kafka.clients import SILENT, admin_settings, new_admin
from penstock.kafka.offsets.sink_looks import LookedAt, isolation_of, look, offsets_at


@dataclass(frozen=True, slots=True)
class PlannedOffset:
    """Offset of a partition, now and after the reset."""

    committed: int | None
    start: int
    end: int
    offset: int

    @property
    def change(self) -> int:
        """Offsets that are skipped, or if it is negative those that are read again.

        A partition without a committed offset changes nothing that is known: it begins as ``auto.offset.reset`` says.
        """
        if self.committed is None:
            return 0
        return self.offset - min(max(self.committed, self.start), self.end)


@dataclass(frozen=True, slots=True)
class Plan:
    offsets: Mapping[Partition, PlannedOffset]
    missing: tuple[str, ...]
    """Topics that do not exist."""
    unknown: Mapping[str, str]
    """Reasons why topics, or partitions of them, could not be read."""


def plan(consumer: Mapping[str, str], sink: LookedAt, to: str | int) -> Plan | str:
    """Return the plan for a sink, or why there is none. Blocks.

    ``consumer``: the settings of its consumers. ``to``: ``earliest``, ``latest``, or a time in milliseconds: the offset
    of the first record at it or later, or the end where there is none.

    Raises KafkaException, ConnectError, and kafka-python's errors if the cluster cannot be reached.
    """
    (found,) = look(consumer, [sink])
    if isinstance(found, str):
        return found
    times, errors = dict[Partition, int](), dict[str, str]()
    if isinstance(to, int):
        admin = new_admin(admin_settings(consumer), log_level=SILENT)
        times, errors = offsets_at(admin, found.positions, OffsetSpec.for_timestamp(to), isolation_of(consumer))
    offsets: dict[Partition, PlannedOffset] = {}
    for place, position in found.positions.items():
        if isinstance(to, int):
            if place not in times:
                continue
            offset = position.end if times[place] < 0 else times[place]
        else:
            offset = position.start if to == "earliest" else position.end
        offsets[place] = PlannedOffset(position.committed, position.start, position.end, offset)
    missing = (*found.missing, *([found.unmatched] if found.unmatched else []))
    return Plan(offsets, missing, {**found.unknown, **errors})
