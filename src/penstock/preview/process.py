"""Runs previews in processes of their own: bounded in number and time, whatever a plugin does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.core.model.messages import Refused
from penstock.preview.messages import PREVIEW_REPLIES, PREVIEW_REQUESTS, RunPreview
from penstock.preview.request import PreviewRequest
from penstock.wire.framing import MAX_FRAME, FrameDecoder, frame

AT_ONCE = 2
TIME_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Previews:
    """``run`` blocks until there is an answer; any thread may call it."""

    run_time_s: float = TIME_LIMIT_S
    command: tuple[str, ...] = (sys.executable, "-m", "penstock.preview")
    _free: threading.BoundedSemaphore = field(default_factory=lambda: threading.BoundedSemaphore(AT_ONCE))

    def run(self, request: PreviewRequest, redact: Callable[[str], str] = str) -> dict[str, Any]:
        """Raises Refused: 503 if too many are running, 500 if it has ended without an answer or took too long."""
        if not self._free.acquire(blocking=False):
            raise Refused(503, f"{AT_ONCE} previews are running, the maximum; try again later")
        try:
            return self._run(request, redact)
        finally:
            self._free.release()

    def _run(self, request: PreviewRequest, redact: Callable[[str], str]) -> dict[str, Any]:
        given = frame(PREVIEW_REQUESTS.encode(RunPreview(request)))
        process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            out, errors = process.communicate(given, timeout=self.run_time_s)
        except subprocess.TimeoutExpired:
            raise Refused(500, f"The preview has not ended within {self.run_time_s:g} s and was killed") from None
        finally:
            _end(process)
        try:
            (body,) = FrameDecoder(MAX_FRAME).feed(out)
            reply = PREVIEW_REPLIES.decode(body)
        except (ValueError, ConnectionError):  # there is none, or something else
            last = errors.decode(errors="replace").strip().rpartition("\n")[2]
            raise Refused(
                500, f"The preview has ended with status {process.returncode} and no answer: {redact(last)}"
            ) from None
        return redacted({"kind": reply.kind, "records": reply.records, "error": reply.error}, redact)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Its children too, such as the JVM of Java plugins."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def redacted(answer: dict[str, Any], redact: Callable[[str], str]) -> dict[str, Any]:
    """With known secrets removed from its errors; records are shown as they are."""

    def error(given: Mapping[str, Any] | None) -> dict[str, Any] | None:
        if given is None:
            return None
        return {member: redact(value) if isinstance(value, str) else value for member, value in given.items()}

    records = [{**record, "error": error(record["error"])} for record in answer["records"]]
    return {**answer, "records": records, "error": error(answer["error"])}
