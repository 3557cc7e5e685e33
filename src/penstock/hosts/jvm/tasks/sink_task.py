"""Sink tasks that run in a JVM: this side of them, which the pipeline calls like every other sink task.

A call crosses with the partitions or offsets it is about; records are in the JVM already, or cross as columns. What
the task asks of its context (rewinds, pauses, commits, a timeout) is kept there and comes back with the call's reply.

A put can be begun and waited for later. It may take records as they were read, and convert them before: then they
cross once, and nothing else does until they are put. A second one may be begun behind it, which does nothing unless
the task takes the records of the first and asks for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.sink import OffsetAndMetadata, SinkTask, SinkTaskContext, TopicPartition
from penstock.hosts.jvm.errors import java_error
from penstock.hosts.jvm.session import Pending
from penstock.hosts.jvm.tasks.group_member import Member, answer_for
from penstock.hosts.jvm.tasks.java_steps import JavaStepOf
from penstock.hosts.jvm.tasks.remote_batch import after, described, encoded, input_of, received, remote
from penstock.hosts.jvm.tasks.task_jvm import TaskJvm

TASK_CLASS = "task.class"


class HostedSinkContext(SinkTaskContext, Protocol):
    """What a task in a JVM needs of its context besides the API."""

    member: Member

    def report_original(self, original: Batch, error: BaseException) -> None:
        """Report an errant record, as it was read: a batch of bytes with one row. Raises if it is not tolerated."""


class NotConvertedError(Exception):
    """A record could not be converted in the JVM, and none has been put."""


class BegunPut:
    """A put that runs in the JVM."""

    def __init__(self, call: Pending, settle: Callable[[dict[str, Any]], None]) -> None:
        self._call, self._settle = call, settle
        self.converted = False
        """Whether the records have been converted, if they were to be."""
        self.again: Batch | None = None
        """The records as they are converted, if the put of records as they were read has failed."""
        self.converting = self.seconds = 0.0
        """How long the conversion and the task's ``put`` have taken."""
        self.clear = False
        """Whether the task has taken the records and asked for nothing, so that a put begun behind this one runs."""

    def wait(self) -> None:
        """Returns when the task has taken the records, or when a put that was begun behind another one has put nothing.
        Raises the plugin's error, NotConvertedError and HostLost.
        """
        answer = self._call.wait()
        assert answer is not None
        reply = answer.result
        if "unconverted" in reply:
            raise NotConvertedError
        if "skipped" in reply:
            return
        self.converted, self.converting, self.seconds = True, reply["converting"], reply["putting"]
        self.clear = reply["clear"]
        self._settle(reply)


class JavaSinkTask(SinkTask):
    """Making one makes the plugin's task in the JVM of the task that is being made."""

    context: HostedSinkContext

    def __init__(self) -> None:
        self._jvm = TaskJvm.current()
        self._prepared: tuple[Batch, tuple[dict[str, Any], list[bytes]], int] | None = None

    def start(self, config: Mapping[str, str]) -> None:
        jvm, session = self._jvm, self._jvm.session
        answer_for(self.context.member, session)
        session.on("sink.report", self._report)
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
        return remote(self._jvm, batch, self._input(batch, read=True))

    def prepare(self, batch: Batch) -> None:
        """Make what will be sent of these records, which were read; that is all that is kept until it is sent."""
        generation = self._jvm.schemas.generation
        self._prepared = batch, encoded(self._jvm, batch, read=True), generation

    def _input(self, batch: Batch, read: bool) -> tuple[dict[str, Any], list[bytes]]:
        prepared, self._prepared = self._prepared, None
        if prepared is not None and prepared[0] is batch and self._jvm.schemas.generation - prepared[2] <= 1:
            return described(self._jvm, prepared[1])
        return described(self._jvm, encoded(self._jvm, batch, read=True)) if read else input_of(self._jvm, batch)

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        self._call("open", {"partitions": list(map(tuple, partitions))})

    def put_batch(self, batch: Batch) -> None:
        self.begin_put(batch).wait()

    def begin_put(
        self, batch: Batch, converters: Mapping[str, JavaStepOf] | None = None, behind: bool = False
    ) -> BegunPut:
        """``converters`` of key, value and header, if the records are as they were read. Until the put has been waited
        for, nothing else but one put ``behind`` it may be called, and calls of the plugin are not answered. The latter
        is waited for if the first is clear, and has put nothing otherwise: its records have to be put again.
        """
        args: dict[str, Any] = {"behind": True} if behind else {}
        payload: list[bytes] = []
        if converters is not None:
            args["convert"] = {part: step().number for part, step in converters.items()}
        if len(batch):
            args["input"], payload = self._input(batch, read=converters is not None)
        args["free"] = self._jvm.take_free()

        def settle(reply: dict[str, Any]) -> None:
            if (made := reply.get("records")) is not None:
                begun.again = after(self._jvm, batch, made)
            self._settle(reply)

        begun = BegunPut(self._jvm.session.begin("sink.put", args, payload), settle)
        return begun

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        agreed = self._call("commit", {"offsets": [(*partition, offset) for partition, offset in offsets.items()]})
        if agreed is None:
            return None  # type: ignore[return-value]  # which fails the task, as in Java
        return {
            TopicPartition(*partition): kept and OffsetAndMetadata(*kept)  # None fails the task as well
            for partition, kept in agreed
        }

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self._call("close", {"partitions": list(map(tuple, partitions))})

    def stop(self) -> None:
        self._call("stop")

    def _call(self, method: str, args: Mapping[str, Any] | None = None, payload: Sequence[bytes] = ()) -> Any:
        """What the method returns, after the context has what the task asked for. Raises the plugin's error."""
        return self._settle(self._jvm.session.call(f"sink.{method}", args, payload).result)

    def _settle(self, reply: dict[str, Any]) -> Any:
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

    def _report(self, args: Mapping[str, Any], payload: memoryview) -> None:
        error = java_error(args["error"])
        if (made := args.get("record")) is None:
            self.context.report_original(_original(args, payload), error)
            return
        topic, partition, offset = made["place"]
        batch = received(self._jvm, made, SinkOrigin([topic], [partition], [offset], [made["timestamp.type"]]))
        assert self.context.errant_record_reporter is not None
        with self._jvm.aside():
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
