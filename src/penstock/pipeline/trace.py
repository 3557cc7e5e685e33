"""The trace of a FAILED task or connector: what happened, why, where in the data, and where in the code.

The first line is Java's (``<class>: <message>``), the causes follow directly, root last, so that they are all at the
top; then the notes that the pipeline added (stage, transform, topic, partition, offset), then the Python frames,
innermost first. The error of a Java plugin is shown as Java prints it, after what was raised here.
"""

from __future__ import annotations

import sys
import traceback

from penstock.api import errors
from penstock.api.errors import cause_of, details_of
from penstock.java.text import java_class_name

_FRAMES = 60
MAX_MESSAGE = 1_000_000
"""Characters of a message in a trace."""
MAX_TRACE = 4 * MAX_MESSAGE


def trace(error: BaseException) -> str:
    """Return the text for an error and its causes, of ``MAX_TRACE`` characters at most; lines end in line feeds."""
    text = _whole(error)
    return text if len(text) <= MAX_TRACE else f"{text[:MAX_TRACE]}... ({len(text) - MAX_TRACE} more characters)\n"


def _whole(error: BaseException) -> str:
    chain = causes(error)
    java = next((i for i, e in enumerate(chain) if hasattr(e, "java_trace")), len(chain))
    if java < len(chain):
        return _with_java(chain[:java], chain[java])
    lines = [("Caused by: " if i else "") + headline(e) for i, e in enumerate(chain)]
    for e in chain:
        lines += _notes(e)
    frames = [line for e in reversed(chain) for line in _frames(e)]
    lines += list(dict.fromkeys(frames))[:_FRAMES]
    return "\n".join(lines) + "\n"


def _with_java(chain: list[BaseException], error: BaseException) -> str:
    """Return the text of what was raised here, then the error of a Java plugin as Java prints it."""
    lines = []
    for i, e in enumerate(chain):
        lines += [("Caused by: " if i else "") + headline(e), *_notes(e)]
        lines += _frames(e)[:_FRAMES]
    trace: str = error.java_trace  # type: ignore[attr-defined]
    return "\n".join(lines) + ("\nCaused by: " if lines else "") + trace.replace("\r\n", "\n").rstrip("\n") + "\n"


def headline(error: BaseException) -> str:
    """``<class>: <message>``, or the class alone if there is no message; Java's ``Throwable.toString``."""
    if isinstance(error, OSError) and error.filename is not None and type(error).__module__ == OSError.__module__:
        return _of_file(error)  # libraries have subclasses for other things, such as HTTPError of urllib
    message = message_of(error)
    return f"{java_class_name(type(error))}: {message}" if message else java_class_name(type(error))


def message_of(error: BaseException) -> str:
    """Return the message of an error; a longer one than ``MAX_MESSAGE`` would not pass the channel to the worker."""
    return errors.message_of(error, MAX_MESSAGE)


def _of_file(error: OSError) -> str:
    """Return an error of the file system as Java names it."""
    match error:
        case FileNotFoundError():
            return f"java.nio.file.NoSuchFileException: {error.filename}"
        case PermissionError():
            return f"java.nio.file.AccessDeniedException: {error.filename}"
    return f"java.nio.file.FileSystemException: {error.filename}: {error.strerror}"


def causes(error: BaseException) -> list[BaseException]:
    """The error and what caused it, each the cause of the one before.

    Of one that was raised again while it was being handled, the first is left, which has more notes.
    """
    chain: list[BaseException] = []
    seen: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in seen:
        seen.append(current)
        if chain and chain[-1].__cause__ is not current and headline(chain[-1]) == headline(current):
            chain.pop()
        chain.append(current)
        current = cause_of(current)
    return chain


def stack(thread: int) -> str:
    """Return where the thread of this number is now, innermost first."""
    frame = sys._current_frames().get(thread)
    return "" if frame is None else "\n".join(_lines(traceback.extract_stack(frame))[:_FRAMES]) + "\n"


def _notes(error: BaseException) -> list[str]:
    return [f"\t{note}" for note in (*getattr(error, "__notes__", ()), *details_of(error))]


def _frames(error: BaseException) -> list[str]:
    return _lines(traceback.extract_tb(error.__traceback__))


def _lines(frames: traceback.StackSummary) -> list[str]:
    return [f"\tat {f.name}({f.filename}:{f.lineno})" for f in reversed(frames)]
