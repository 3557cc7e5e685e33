"""The source partitions and offsets of the mirror connectors, and the checks of those that a user wants to set
(KIP-875).

Java: ``MirrorUtils``, and ``alterOffsets`` of the three connectors, with their words. The order of members is that of
Java's hash maps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.api.errors import KafkaError
from penstock.api.sink import TopicPartition
from penstock.api.values import hash_order, java_text

Pairs = Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]]

OFFSET, PARTITION = "offset", "partition"
NO_OFFSET = {OFFSET: 0}
"""The source offset of what has none: checkpoints and heartbeats."""


class OffsetsRefused(KafkaError):
    """Offsets that the connector could not resume from. As in Java the request answers 500, so it is not a
    ConnectError.
    """

    java_name = "org.apache.kafka.connect.errors.ConnectException"


def source_partition(cluster: str, topic_partition: TopicPartition) -> dict[str, Any]:
    return {"cluster": cluster, "partition": topic_partition.partition, "topic": topic_partition.topic}


def check(offsets: Pairs, texts: Sequence[str], *, with_partition: bool, only_zero: bool) -> bool:
    """Whether these may be set: ``texts`` are the members of the partition that must be texts.

    Removing (None) is always possible, so that wrong offsets can be removed. Raises OffsetsRefused.
    """
    for partition, offset in offsets:
        if offset is None:
            continue
        if partition is None:
            raise OffsetsRefused("Source partitions may not be null")
        for name in texts:
            if not isinstance(_member(partition, name), str):
                raise _bad_partition(partition, name, "must be a string")
        if with_partition:
            _check_partition(partition)
        _check_offset(partition, offset, only_zero)
    return True


def _member(partition: Mapping[str, Any], name: str) -> Any:
    if name not in partition:
        raise OffsetsRefused(f"Source partition {_shown(partition)} is missing the '{name}' key, which is required")
    return partition[name]


def _bad_partition(partition: Mapping[str, Any], name: str, problem: str) -> OffsetsRefused:
    shown, value = _shown(partition), java_text(partition[name])
    return OffsetsRefused(
        f"Source partition {shown} has an invalid value {value} for the '{name}' key, which {problem}"
    )


def _check_partition(partition: Mapping[str, Any]) -> None:
    number = _member(partition, PARTITION)
    if not _is_integer(number) or number > 2**31 - 1:
        raise _bad_partition(partition, PARTITION, "must be an integer")
    if number < 0:
        raise _bad_partition(partition, PARTITION, "cannot be negative")


def _check_offset(partition: Mapping[str, Any], offset: Mapping[str, Any], only_zero: bool) -> None:
    what = f"Source offset {_shown(offset)} for source partition {_shown(partition)}"
    if OFFSET not in offset:
        raise OffsetsRefused(f"{what} is missing the '{OFFSET}' key, which is required")
    value = offset[OFFSET]
    invalid = f"{what} has an invalid value {java_text(value)} for the '{OFFSET}' key"
    if not _is_integer(value):
        raise OffsetsRefused(f"{invalid}, which must be an integer")
    if only_zero and value != 0:
        raise OffsetsRefused(f"{invalid}; the only accepted value is 0")
    if value < 0:
        raise OffsetsRefused(f"{invalid}, which cannot be negative")


def _shown(members: Mapping[str, Any]) -> str:
    return java_text({name: members[name] for name in hash_order(members)})


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63
