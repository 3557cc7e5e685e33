"""A schema registry in this process, with Confluent's paths, IDs and GUIDs, that fails on demand."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass
class Reply:
    """A reply that replaces the regular one."""

    status: int
    body: bytes
    times: int = 10**6


def failure(status: int, code: int, message: str, times: int = 10**6) -> Reply:
    return Reply(status, json.dumps({"error_code": code, "message": message}).encode(), times)


@dataclass
class RegistryDouble:
    url: str = ""
    schemas: list[dict[str, Any]] = field(default_factory=list)
    """Schemas by ID, from 1."""
    subjects: dict[str, list[int]] = field(default_factory=dict)
    replies: list[Reply] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)

    def fail(self, reply: Reply) -> None:
        self.replies[:] = [reply]

    def answer(self, method: str, path: str, body: dict[str, Any] | None, query: dict[str, list[str]]) -> Reply:
        if self.replies and self.replies[0].times:
            self.replies[0].times -= 1
            return self.replies[0]
        match in_context([unquote(part) for part in path.strip("/").split("/")]):
            case ["subjects"]:
                return shown(sorted(self.subjects))
            case ["subjects", prefix, ""]:
                return shown([subject for subject in sorted(self.subjects) if subject.startswith(prefix)])
            case ["subjects", subject, "versions"] if method == "POST":
                return shown(self.register(subject, body or {}))
            case ["subjects", subject] if method == "POST":
                for version, number in enumerate(self.subjects.get(subject, ()), 1):
                    if same(self.schemas[number - 1], body or {}):
                        return shown(self.entry(number) | {"subject": subject, "version": version})
                return failure(404, 40403, "Schema not found")
            case ["subjects", subject, "versions", version] if subject in self.subjects:
                index = len(self.subjects[subject]) if version == "latest" else int(version)
                number = self.subjects[subject][index - 1]
                return shown(self.entry(number) | {"subject": subject, "version": index})
            case ["subjects", subject, *_]:
                return failure(404, 40401, f"Subject '{subject}' not found.")
            case ["schemas", "ids", number, "versions"] if int(number) <= len(self.schemas):
                return shown([
                    {"subject": subject, "version": ids.index(int(number)) + 1}
                    for subject, ids in self.subjects.items()
                    if int(number) in ids
                ])  # fmt: skip
            case ["schemas", "ids", number, *_] if 0 < int(number) <= len(self.schemas):
                return shown(self.entry(int(number)))
            case ["schemas", "guids", guid]:
                for number, schema in enumerate(self.schemas, 1):
                    if schema["guid"] == guid:
                        return shown(self.entry(number))
        return failure(404, 40403, "Schema not found")

    def entry(self, number: int) -> dict[str, Any]:
        return {"id": number, **self.schemas[number - 1]}

    def register(self, subject: str, body: dict[str, Any]) -> dict[str, Any]:
        for number, schema in enumerate(self.schemas, 1):  # noqa: B007
            if same(schema, body):
                break
        else:
            number = len(self.schemas) + 1
            self.schemas.append({
                "schema": body["schema"], "schemaType": body.get("schemaType", "AVRO"),
                "references": body.get("references", []), "guid": str(uuid.uuid4()),
            })  # fmt: skip
        ids = self.subjects.setdefault(subject, [])
        if number not in ids:
            ids.append(number)
        return self.entry(number)


def in_context(parts: list[str]) -> list[str]:
    """Remove the context from the beginning of a path; the subject in it, and those in answers, then begin with it."""
    match parts:
        case ["contexts", name, "subjects", subject, *rest]:
            return ["subjects", f":{name}:{subject}", *rest]
        case ["contexts", name, "subjects"]:
            return ["subjects", f":{name}:", ""]
        case ["contexts", _, *rest]:
            return rest
    return parts


def same(schema: dict[str, Any], body: dict[str, Any]) -> bool:
    kind = body.get("schemaType", "AVRO")
    return schema["schema"] == body.get("schema") and schema["schemaType"] == kind


def shown(body: Any) -> Reply:
    return Reply(200, json.dumps(body).encode())


@contextmanager
def running_double() -> Iterator[RegistryDouble]:
    double = RegistryDouble()

    class Handler(BaseHTTPRequestHandler):
        def handle_request(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            url = urlsplit(self.path)
            double.requests.append((self.command, url.path))
            double.headers.append(dict(self.headers.items()))
            double.queries.append(url.query)
            reply = double.answer(self.command, url.path, body, parse_qs(url.query))
            self.send_response(reply.status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        do_GET = do_POST = do_PUT = handle_request

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    double.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield double
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
