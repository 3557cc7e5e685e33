"""Previews in processes of their own, bounded in number and time, whatever a plugin does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from msgspec.structs import asdict, replace

from penstock.api.processes import child_environment
from penstock.core.model.messages import Refused
from penstock.preview.messages import (
    ANSWERS,
    REQUESTS,
    AnyAnswer,
    AnyRequest,
    CheckAnswer,
    CheckRequest,
    PreviewAnswer,
    PreviewFailure,
    PreviewRequest,
    RecordsAnswer,
    RecordsRequest,
    StepFailure,
)
from penstock.wire.framing import FrameDecoder, frame

F = TypeVar("F", PreviewFailure | None, StepFailure | None)

AT_ONCE = 4
"""Maximum number of previews of a worker that run at the same time; a user of the REST interface may have half."""
TIME_LIMIT_S = 60.0
END_S = 1.0
MAX_OUTPUT = 1 << 16
"""Bytes of its output that are kept."""
LEFT = 499
"""Status of a request whose client has closed its connection, for the audit log; nobody receives it."""
MAX_ANSWER = 1 << 30
"""Bytes."""


@dataclass(frozen=True, slots=True)
class Previews:
    """``run`` blocks until there is an answer; any thread may call it."""

    run_time_s: float = TIME_LIMIT_S
    command: tuple[str, ...] = (sys.executable, "-m", "penstock.preview")
    _free: threading.BoundedSemaphore = field(default_factory=lambda: threading.BoundedSemaphore(AT_ONCE))

    def run(self, request: PreviewRequest, redact: Callable[[str], str] = str) -> PreviewAnswer:
        """Run a preview; secrets in errors are removed by ``redact``, records are shown as they are.

        Raises Refused: 503 if too many are running, 500 if it ended without an answer or took too long.
        """
        answer = self._answer(request, redact)
        assert isinstance(answer, PreviewAnswer)
        return redacted(answer, redact)

    def records(
        self, request: RecordsRequest, redact: Callable[[str], str] = str, left: Future[None] | None = None
    ) -> RecordsAnswer:
        """Read records of a topic; otherwise as ``run``. The process is killed when ``left`` is done: the client has
        closed its connection.
        """
        answer = self._answer(request, redact, left)
        assert isinstance(answer, RecordsAnswer)
        for record in answer.records:
            for error in record["errors"]:
                error["message"] = redact(error["message"])
        return answer if answer.error is None else replace(answer, error=redact(answer.error))

    def check(self, request: CheckRequest, redact: Callable[[str], str] = str) -> CheckAnswer:
        """Contact what a configuration names; otherwise as ``run``."""
        answer = self._answer(request, redact)
        assert isinstance(answer, CheckAnswer)
        return CheckAnswer(steps=[{**step, "message": redact(step["message"])} for step in answer.steps])

    def _answer(self, request: AnyRequest, redact: Callable[[str], str], left: Future[None] | None = None) -> AnyAnswer:
        if not self._free.acquire(blocking=False):
            raise Refused(
                503, f"{AT_ONCE} previews, searches of records or checks are running, the maximum; try again later"
            )
        try:
            return self._run(request, redact, left)
        finally:
            self._free.release()

    def _run(self, request: AnyRequest, redact: Callable[[str], str], left: Future[None] | None) -> AnyAnswer:
        match request:
            case PreviewRequest():
                name = "preview"
            case RecordsRequest():
                name = "search of records"
            case CheckRequest():
                name = "check"
        given = frame(REQUESTS.encode(request))
        process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=child_environment(),
            start_new_session=True,
        )
        errors = LastOutput(process)
        if left is not None:
            left.add_done_callback(lambda _: _kill(process))
        try:
            out, _ = process.communicate(given, timeout=self.run_time_s)
        except subprocess.TimeoutExpired:
            raise Refused(500, f"The {name} has not ended within {self.run_time_s:g} s and was killed") from None
        finally:
            _end(process)
        if left is not None and left.done():
            raise Refused(LEFT, f"The client has closed its connection before the {name} has ended")
        try:
            body = next(FrameDecoder(MAX_ANSWER).feed(out), None)
            answer = None if body is None else ANSWERS.decode(body)
        except ConnectionError as error:
            raise Refused(500, f"The answer of the {name} is invalid: {redact(str(error))}") from None
        if answer is None:
            last = errors.text().strip().rpartition("\n")[2]
            raise Refused(500, f"The {name} has ended with status {process.returncode} and no answer: {redact(last)}")
        return answer


class LastOutput:
    """The end of what a process prints to its standard error: plugins may print without end."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        """Take the pipe from the process, and read it on a thread."""
        pipe, process.stderr = process.stderr, None
        assert pipe is not None
        self._pipe, self._kept = pipe, bytearray()
        self._thread = threading.Thread(target=self._read, name="preview-output", daemon=True)
        self._thread.start()

    def text(self) -> str:
        """Return what has been kept; called when the process has ended."""
        self._thread.join(END_S)
        return bytes(self._kept).decode(errors="replace")

    def _read(self) -> None:
        with self._pipe:
            while data := os.read(self._pipe.fileno(), MAX_OUTPUT):
                self._kept += data
                del self._kept[:-MAX_OUTPUT]


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and its children, such as the JVM of Java plugins."""
    _kill_group(process)
    process.wait()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Do the same without waiting, unless the process has ended: its ID may be another's by now."""
    if process.returncode is None:
        _kill_group(process)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def redacted(answer: PreviewAnswer, redact: Callable[[str], str]) -> PreviewAnswer:
    """Return an answer with known secrets removed from its errors; records are shown as they are."""

    def clean(failure: F) -> F:
        return failure and replace(failure, **{name: redact(text) for name, text in asdict(failure).items()})

    records = [replace(record, error=clean(record.error)) for record in answer.records]
    return replace(answer, records=records, error=clean(answer.error))
