"""What plugins ask the consumer of a sink task, which some reach into the runtime for; Java: ``GroupMember``.

They ask while the task's methods run, or in threads of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from penstock.api.sink import OffsetAndMetadata, TopicPartition
from penstock.hosts.jvm.session import Session


class Metadata(Protocol):
    """Java: ``ConsumerGroupMetadata``."""

    @property
    def group(self) -> str: ...
    @property
    def generation(self) -> int: ...
    @property
    def member(self) -> str: ...
    @property
    def instance(self) -> str | None: ...


class Member(Protocol):
    """The member of the consumer group that reads the task's records."""

    def metadata(self) -> Metadata: ...

    def committed(
        self, partitions: Sequence[TopicPartition], /
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]: ...

    def ends(self, partitions: Sequence[TopicPartition], last: bool, /) -> Mapping[TopicPartition, int]:
        """The first offset of each partition, or the one after its last record."""

    def described(self, topic: str, /) -> Sequence[Mapping[str, Any]]:
        """Each partition of a topic: its number, its leader, its replicas and those that are in sync."""

    @property
    def positions(self) -> Any:
        """A function that returns the offset of the next record to be read of each partition."""


def answer_for(member: Member, session: Session) -> None:
    """Let this member answer what is asked in the session."""

    def group(args: Mapping[str, Any], payload: memoryview) -> Any:
        found = member.metadata()
        return {
            "group": found.group,
            "generation": found.generation,
            "member": found.member,
            "instance": found.instance,
        }

    def committed(args: Mapping[str, Any], payload: memoryview) -> Any:
        found = member.committed(_partitions(args))
        return [
            [*partition, *((None, "", None) if known is None else (int(known), known.metadata, known.leader_epoch))]
            for partition, known in found.items()
        ]

    def position(args: Mapping[str, Any], payload: memoryview) -> int:
        return member.positions()[TopicPartition(*args["partition"])]

    def ends(args: Mapping[str, Any], payload: memoryview) -> Any:
        return [[*partition, offset] for partition, offset in member.ends(_partitions(args), args["last"]).items()]

    def described(args: Mapping[str, Any], payload: memoryview) -> Any:
        return list(member.described(args["topic"]))

    for name, answer in (
        ("sink.group", group),
        ("sink.committed", committed),
        ("sink.position", position),
        ("sink.ends", ends),
        ("sink.described", described),
    ):
        session.on(name, answer)


def _partitions(args: Mapping[str, Any]) -> list[TopicPartition]:
    return [TopicPartition(*each) for each in args["partitions"]]
