"""Sink tasks that run in a JVM: this side of them, which the pipeline calls like every other sink task.

A call crosses with the partitions or offsets it is about; records are in the JVM already, or cross as columns. What
the task asks of its context (rewinds, pauses, commits, a timeout) is kept there and comes back with the call's reply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.sink import SinkTask, SinkTaskContext, TopicPartition
from penstock.hosts.jvm.errors import java_error
from penstock.hosts.jvm.tasks.remote_batch import input_of, received, remote
from penstock.hosts.jvm.tasks.task_jvm import TaskJvm

TASK_CLASS = "task.class"


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

    def committed(self, partitions: Sequence[TopicPartition], /) -> Mapping[TopicPartition, tuple[int, str] | None]: ...

    @property
    def positions(self) -> Any:
        """A function that returns the offset of the next record to be read of each partition."""


class HostedSinkContext(SinkTaskContext, Protocol):
    """What a task in a JVM needs of its context besides the API."""

    member: Member

    def report_original(self, original: Batch, error: BaseException) -> None:
        """Report an errant record, as it was read: a batch of bytes with one row. Raises if it is not tolerated."""


class JavaSinkTask(SinkTask):
    """Making one makes the plugin's task in the JVM of the task that is being made."""

    context: HostedSinkContext

    def __init__(self) -> None:
        self._jvm = TaskJvm.current()

    def start(self, config: Mapping[str, str]) -> None:
        jvm, session = self._jvm, self._jvm.session
        for name, answer in (
            ("sink.group", self._group),
            ("sink.committed", self._committed),
            ("sink.position", self._position),
            ("sink.report", self._report),
        ):
            session.on(name, answer)
        session.call(
            "sink.create",
            {
                "connector": jvm.connector_config["connector.class"],
                "connector_version": jvm.connector_config.get("connector.plugin.version"),
                "task": jvm.task_config[TASK_CLASS],
                "name": jvm.connector,
                "number": jvm.task,
                "config": dict(config),
                "reporter": self.context.errant_record_reporter is not None,
            },
        )
        self._call("start")

    def send(self, batch: Batch) -> Batch:
        """Send records as they were read: plugins ask for them, and the next steps may find them in the JVM."""
        return remote(self._jvm, batch)

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        self._call("open", {"partitions": list(map(tuple, partitions))})

    def put_batch(self, batch: Batch) -> None:
        args: dict[str, Any] = {"free": self._jvm.take_free()}
        payload: list[bytes] = []
        if len(batch):
            args["input"], payload = input_of(self._jvm, batch)
        self._call("put", args, payload)

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        agreed = self._call("commit", {"offsets": [(*partition, offset) for partition, offset in offsets.items()]})
        if agreed is None:
            return None  # type: ignore[return-value]  # which fails the task, as in Java
        return {TopicPartition(topic, partition): offset for topic, partition, offset, _ in agreed}

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self._call("close", {"partitions": list(map(tuple, partitions))})

    def stop(self) -> None:
        self._call("stop")

    def _call(self, method: str, args: Mapping[str, Any] | None = None, payload: Sequence[bytes] = ()) -> Any:
        """What the method returns, after the context has what the task asked for. Raises the plugin's error."""
        reply = self._jvm.session.call(f"sink.{method}", args, payload).result
        self._asked(reply)
        if (failure := reply.get("failure")) is not None:
            raise java_error(failure)
        return reply["returned"]

    def _asked(self, reply: Mapping[str, Any]) -> None:
        context = self.context
        if reply["rewinds"]:
            context.offset({TopicPartition(topic, number): offset for topic, number, offset in reply["rewinds"]})
        if reply["timeout"] is not None:
            context.timeout(reply["timeout"])
        if reply["commit"]:
            context.request_commit()
        for flow in reply["flow"]:
            partitions = {TopicPartition(*each) for each in flow["partitions"]} & context.assignment
            (context.pause if flow["what"] == "pause" else context.resume)(*partitions)

    # -- what the plugin asks while its methods run, or in threads of its own

    def _group(self, args: Mapping[str, Any], payload: memoryview) -> Any:
        found = self.context.member.metadata()
        return {
            "group": found.group,
            "generation": found.generation,
            "member": found.member,
            "instance": found.instance,
        }

    def _committed(self, args: Mapping[str, Any], payload: memoryview) -> Any:
        found = self.context.member.committed([TopicPartition(*each) for each in args["partitions"]])
        return [[*partition, *(known or (None, ""))] for partition, known in found.items()]

    def _position(self, args: Mapping[str, Any], payload: memoryview) -> int:
        return self.context.member.positions()[TopicPartition(*args["partition"])]

    def _report(self, args: Mapping[str, Any], payload: memoryview) -> None:
        error = java_error(args["error"])
        if (made := args.get("record")) is None:
            self.context.report_original(_original(args, payload), error)
            return
        topic, partition, offset = made["place"]
        batch = received(self._jvm, made, SinkOrigin([topic], [partition], [offset], [made["timestamp.type"]]))
        assert self.context.errant_record_reporter is not None
        self.context.errant_record_reporter.report(batch.row(0), error)  # type: ignore[arg-type]


def _original(args: Mapping[str, Any], payload: memoryview) -> Batch:
    """A record of bytes, as it was read from its topic."""
    at = 0

    def taken(length: int) -> bytes | None:
        nonlocal at
        if length < 0:
            return None
        at += length
        return bytes(payload[at - length : at])

    topic, partition, offset = args["place"]
    key, value = taken(args["key"]), taken(args["value"])
    headers = tuple((name, taken(length)) for name, length in args["headers"])
    return Batch.of(
        topic,
        [value],
        keys=[key],
        partitions=[partition],
        timestamps=[args["timestamp"]],
        headers=[headers],  # type: ignore[list-item]
        origin=SinkOrigin([topic], [partition], [offset], [args["timestamp.type"]]),
    )
