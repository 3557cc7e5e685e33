"""A transform, predicate or converter in the JVM of a task, applied to batches there.

``twin`` makes one of a plugin of Kafka's own that also exists in Python: where a batch is in the JVM already, that one
is used, and the values do not cross.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import repeat
from typing import Any, ClassVar

from penstock.api.batch import Batch
from penstock.api.plugin_metrics import Monitorable, PluginMetrics
from penstock.api.record import Header
from penstock.hosts.jvm.codec.decode import Decoder
from penstock.hosts.jvm.tasks.remote_batch import (
    EVERYTHING,
    PARTS,
    BytesBatch,
    RemoteBatch,
    after,
    header_rows,
    input_of,
)
from penstock.hosts.jvm.tasks.task_jvm import TaskJvm

_NEEDED = {
    "key": ("topics", "headers", "key"),
    "value": ("topics", "headers", "value"),
    "headers": ("topics", "headers"),
}


class JavaStep:
    """Makes the plugin in the JVM, and configures it. Raises what the plugin raises."""

    def __init__(
        self,
        jvm: TaskJvm,
        kind: str,
        java_class: str,
        config: Mapping[str, str],
        location: str | None = None,
        is_key: bool = False,
    ) -> None:
        self.jvm = jvm
        args = {
            "kind": kind,
            "class": java_class,
            "config": dict(config),
            "location": location,
            "is_key": is_key,
        }
        self.number: int = jvm.session.call("step.create", args).result

    def tell_metrics(self, tags: Mapping[str, str]) -> None:
        """Give the plugin the metrics it may want, with these tags."""
        self.jvm.session.call("step.metrics", {"step": self.number, "tags": dict(tags)})

    def apply(self, batch: Batch, predicate: JavaStep | None = None, negate: bool = False) -> RemoteBatch:
        """Transform the records, or those for which the predicate is true (or, negated, false)."""
        condition = {} if predicate is None else {"predicate": predicate.number, "negate": negate}
        result, _ = self._call("step.apply", batch, EVERYTHING, **condition)
        return after(self.jvm, batch, result)

    def test(self, batch: Batch) -> list[bool]:
        _, hits = self._call("step.test", batch, EVERYTHING)
        return list(map(bool, hits))

    def to_connect(self, batch: Batch, part: str) -> RemoteBatch:
        """``part``: key, value or headers, which are bytes."""
        result, _ = self._call("step.to", batch, EVERYTHING, part=part)
        return after(self.jvm, batch, result)

    def from_connect(self, batch: Batch, part: str) -> Batch:
        """The same batch with this part as bytes, and with the headers that the converter has set."""
        result, payload = self._call("step.from", batch, _NEEDED[part], part=part)
        decoder = Decoder(payload, self.jvm.schemas.get)
        columns: dict[str, Any] = {}
        if part != "headers":
            columns[f"{part}s"] = decoder.plain()
        if result["headers"]:
            counts, names = decoder.plain(), decoder.plain()
            columns["headers"] = header_rows(counts, map(Header, names, repeat(None), decoder.plain()))
        return batch.with_(**columns)

    def close(self) -> None:
        if not self.jvm.session.gone:
            self.jvm.session.call("step.close", {"step": self.number}, lane="close", timeout=10.0)

    def _call(self, method: str, batch: Batch, needed: tuple[str, ...], **args: Any) -> tuple[Any, memoryview]:
        input, payload = input_of(self.jvm, batch, needed)
        message = {"step": self.number, "input": input, "free": self.jvm.take_free(), **args}
        reply = self.jvm.session.call(method, message, payload, lane=self.jvm.lane)
        return reply.result, reply.payload


def to_bytes(batch: RemoteBatch, steps: Mapping[str, JavaStep]) -> BytesBatch:
    """The same batch after converters of Kafka's for ``key``, ``value`` and ``header``, by one call.

    Neighbours with the same headers, which sources mostly have, share theirs here.
    """
    jvm = steps["value"].jvm
    input, payload = input_of(jvm, batch, ("topics", *PARTS))
    numbers = {part: step.number for part, step in steps.items()}
    message = {"steps": numbers, "input": input, "free": jvm.take_free()}
    reply = jvm.session.call("step.bytes", message, payload, lane=jvm.lane)
    decoder = Decoder(reply.payload, jvm.schemas.get)
    keys, values, runs = decoder.plain(), decoder.plain(), decoder.plain()
    counts, names = decoder.plain(), decoder.plain()
    rows = header_rows(counts, map(Header, names, repeat(None), decoder.plain()))
    headers = [row for length, row in zip(runs, rows, strict=True) for row in repeat(row, length)]
    return batch.as_bytes(keys, values, headers)


class OfJava(Monitorable):
    """Base of transforms, predicates and converters of jars: they may be ``Monitorable`` in Java."""

    java_location: ClassVar[str | None] = None
    """The location whose class it is; None for the newest."""
    step: JavaStep

    def with_plugin_metrics(self, metrics: PluginMetrics) -> None:
        self.step.tell_metrics(metrics.tags)
