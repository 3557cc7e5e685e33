"""OpenTelemetry's spans: one per batch, with one per stage below it.

The batch of a source begins a trace. If so configured, its records carry the trace's id in the header ``traceparent``
(W3C Trace Context), and the batch of a sink continues it. A batch with records of several traces continues the first
one that is sampled; in each of the others there is a span as long as the batch, and the spans link to each other.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Self

from opentelemetry import context, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from penstock.api.batch import Batch
from penstock.api.record import Header
from penstock.hosts.jvm.tasks.steps import in_jvm
from penstock.pipeline.metrics import STAGES
from penstock.pipeline.task import TaskSpec
from penstock.pipeline.telemetry import otlp
from penstock.pipeline.telemetry.traces import HEADER, HEADERS, MAX_TRACES, NoTraces, current_ids, is_on, traceparents
from penstock.settings.redaction import Redaction

CLOSE_S = 2.0
"""The time for which the end of a task waits for the collector."""
_STAGES: dict[str, dict[str, str | None]] = {
    "source": {"commit": None},
    "sink": {"poll": None, "commit": "flush"},
    "query": dict.fromkeys(STAGES),  # its stages are shares of its time, and it has spans of its own
}
"""The stages of ``Metrics`` that have another name in a trace, by kind of task; None for those that are left out."""
_W3C = TraceContextTextMapPropagator()


@dataclass(slots=True)
class Spans(NoTraces):
    """The spans of one run of a task."""

    kind: str
    """``source`` or ``sink``."""
    stages: dict[str, str | None]
    name: str
    attributes: dict[str, Any]
    writes_headers: bool
    provider: TracerProvider
    tracer: Tracer
    redaction: Redaction
    batch: Span | None = None
    """The span of the batch being processed."""
    last: SpanContext | None = None
    """The context of the last batch that was finished; a commit belongs to it."""
    others: list[Span] = field(default_factory=list)
    """The spans in the other traces of the batch."""
    began: int = 0

    @classmethod
    def of(cls, spec: TaskSpec) -> Self:
        provider = TracerProvider(resource=otlp.resource(), shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(otlp.exporter("trace")))
        redaction = Redaction()
        for config in (spec.worker_config, spec.connector_config, spec.config):
            redaction.learn(config)
        kind = "source" if spec.is_source or spec.kind == "source" else "sink"
        return cls(
            kind=kind,
            stages=_STAGES["query" if kind == "sink" and spec.kind == "query" else kind],
            name=spec.connector,
            attributes={
                "messaging.system": "kafka",
                "penstock.group": spec.group_id,
                "penstock.connector": spec.connector,
                "penstock.task": spec.task,
                "penstock.run": spec.run,
            },
            writes_headers=is_on(spec.worker_config, HEADERS),
            provider=provider,
            tracer=provider.get_tracer(otlp.SCOPE),
            redaction=redaction,
        )

    def begin(self, headers: Sequence[Any] = ()) -> None:
        self.began = time.time_ns()
        self._start(parents(traceparents(headers)))

    def _start(self, found: Sequence[SpanContext]) -> None:
        """A span that is never ended is never sent, such as that of a poll without records."""
        parent = next((each for each in found if each.trace_flags.sampled), found[0] if found else None)
        rest = {each.trace_id: each for each in found if parent is not None and each.trace_id != parent.trace_id}
        self.batch = self._span(parent, [Link(each) for each in rest.values()])
        mine = self.batch.get_span_context()
        if not mine.is_valid:  # OTEL_SDK_DISABLED
            self.idle()
            return
        self.others = [self._span(each, [Link(mine)]) for each in rest.values() if each.trace_flags.sampled]
        ids = {"trace_id": f"{mine.trace_id:032x}", "span_id": f"{mine.span_id:016x}"}
        current_ids.set({**ids, "trace_flags": f"{mine.trace_flags:02x}"})

    def _span(self, parent: SpanContext | None, links: Sequence[Link]) -> Span:
        kind = SpanKind.PRODUCER if self.kind == "source" else SpanKind.CONSUMER
        name, began = f"{self.kind} {self.name}", self.began
        return self.tracer.start_span(name, _inside(parent), kind, self.attributes, links, began)

    def polled(self, batch: Batch) -> None:
        """The batch continues the traces of its records; but not if it is in the JVM, since its headers are there."""
        if self.kind == "source" and not in_jvm(batch) and (found := parents(traceparents(batch.headers))):
            self._start(found)
        for span in self._open():
            span.set_attribute("messaging.batch.message_count", len(batch))
            if len(topics := sorted(set(batch.topics))) <= 10:
                span.set_attribute("messaging.destination.name", ",".join(topics))

    def read(self, headers: Sequence[str]) -> None:
        """The batch continues the traces of these headers from its beginning; the span it had so far is not sent."""
        if self.batch is not None and (found := parents(headers)):
            self._start(found)

    def idle(self) -> None:
        self.batch, self.others = None, []
        current_ids.set({})

    def stage(self, name: str, seconds: float) -> None:
        called = self.stages.get(name, name)
        parent = self.last if self.batch is None else self.batch.get_span_context()
        if called is None or parent is None or not parent.trace_flags.sampled:
            return
        now = time.time_ns()
        span = self.tracer.start_span(called, _inside(parent), start_time=now - int(seconds * 1e9))
        span.end(now)

    def committed(self, seconds: float, success: bool) -> None:
        now = time.time_ns()
        started = now - int(seconds * 1e9)
        parent = self.last if self.batch is None or started < self.began else self.batch.get_span_context()
        if parent is not None and parent.trace_flags.sampled:
            span = self.tracer.start_span("commit", _inside(parent), start_time=started)
            if not success:
                span.set_status(StatusCode.ERROR)
            span.end(now)

    def survived(self, error: BaseException) -> None:
        if self.batch is not None:
            self._record(self.batch, error)

    def carried(self, batch: Batch) -> Batch:
        if not self.writes_headers or self.batch is None or not len(batch):
            return batch
        carrier: dict[str, str] = {}
        _W3C.inject(carrier, trace.set_span_in_context(self.batch, context.Context()))
        mine = (Header(HEADER, None, carrier[HEADER].encode()),)
        if not any(batch.headers):
            return batch.with_(headers=[mine] * len(batch))
        return batch.with_(headers=[row if _has_one(row) else row + mine for row in batch.headers])

    def end(self, error: BaseException | None = None) -> None:
        now = time.time_ns()
        for span in self._open():
            if error is not None:
                self._record(span, error)
                span.set_status(Status(StatusCode.ERROR, self.redaction.clean(str(error))))
            span.end(now)
        if self.batch is not None:
            self.last = self.batch.get_span_context()
        self.idle()

    def _record(self, span: Span, error: BaseException) -> None:
        """Record an error; these attributes override OpenTelemetry's own, which may contain secrets."""
        clean = self.redaction.clean
        trace = clean("".join(traceback.format_exception(error)))
        span.record_exception(error, {"exception.message": clean(str(error)), "exception.stacktrace": trace})

    def _open(self) -> list[Span]:
        return [] if self.batch is None else [self.batch, *self.others]

    def close(self) -> None:
        """A collector that is down does not hold up the task."""
        ending = threading.Thread(target=self.provider.shutdown, name="traces", daemon=True)
        ending.start()
        ending.join(CLOSE_S)


def _inside(parent: SpanContext | None) -> context.Context:
    empty = context.Context()
    return empty if parent is None else trace.set_span_in_context(trace.NonRecordingSpan(parent), empty)


def _has_one(row: Iterable[Any]) -> bool:
    return any(header[0] == HEADER for header in row)


def parents(headers: Iterable[str]) -> list[SpanContext]:
    """The valid ones of different ``traceparent`` headers, at most ``MAX_TRACES``."""
    spans = (
        trace.get_current_span(_W3C.extract({HEADER: text}, context.Context())).get_span_context() for text in headers
    )
    return list(islice((span for span in spans if span.is_valid), MAX_TRACES))
