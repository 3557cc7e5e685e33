"""A collector of OpenTelemetry that receives OTLP over HTTP, decodes it, and keeps it."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Self

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

MESSAGES = {
    "/v1/traces": (ExportTraceServiceRequest, ExportTraceServiceResponse),
    "/v1/metrics": (ExportMetricsServiceRequest, ExportMetricsServiceResponse),
}


@dataclass
class Collector:
    received: list[Any] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def __enter__(self) -> Self:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                request, response = MESSAGES[self.path]
                with collector.lock:
                    collector.received.append(request.FromString(body))
                self.send_response(200)
                self.send_header("Content-Type", "application/x-protobuf")
                self.end_headers()
                self.wfile.write(response().SerializeToString())

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def _all(self, kind: type) -> list[Any]:
        with self.lock:
            return [each for each in self.received if isinstance(each, kind)]

    def spans(self, name: str | None = None) -> list[Span]:
        """Return the spans in the order in which they began."""
        found = [
            span
            for request in self._all(ExportTraceServiceRequest)
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
        found.sort(key=lambda span: span.start_time_unix_nano)
        return [span for span in found if name is None or span.name == name]

    def services(self) -> set[str]:
        return {
            attribute.value.string_value
            for request in self.received
            for resource in getattr(request, "resource_spans", None) or request.resource_metrics
            for attribute in resource.resource.attributes
            if attribute.key == "service.name"
        }

    def metrics(self) -> Iterator[Metric]:
        for request in self._all(ExportMetricsServiceRequest):
            for resource in request.resource_metrics:
                for scope in resource.scope_metrics:
                    yield from scope.metrics


def attributes(of: Any) -> dict[str, Any]:
    """Return the attributes of a span, a data point or a resource."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in of.attributes}
