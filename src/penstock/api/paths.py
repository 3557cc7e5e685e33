"""Allowed folders: paths of connectors as their readers resolve them, and files opened in those folders. Provisional.

The worker's setting PATHS_ALLOWED names the folders. A path is resolved as what opens it does: Python's ``open``, or
Hadoop's file systems, which Spark has. Checked when a configuration is validated, when the connector and its tasks
start, and once more when a file has been opened, because a link may have been made meanwhile.
"""

from __future__ import annotations

import contextvars
import enum
import os
import posixpath
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import unquote

from penstock.api.config_types import ConfigType, parse_type
from penstock.api.errors import ConnectError
from penstock.java.parsing import BLANKS

PATHS_ALLOWED = "penstock.paths.allowed"
MAX_PATH = 4096
"""Maximum of characters of a path, Linux' of bytes."""
MAX_LEVELS = 8
"""Maximum of levels of percent-encoding."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_allowed: contextvars.ContextVar[tuple[str, ...] | None] = contextvars.ContextVar("allowed", default=None)


class PathReader(enum.Enum):
    """The program that opens a path."""

    OPEN = "open"
    """Python or a native library: a path of this machine."""
    HADOOP = "Hadoop"
    """Spark's writers and checkpoints: a path or URI, and no pattern."""
    HADOOP_PATTERN = "Hadoop's pattern"
    """Spark's readers of files: a path or URI that may have ``*``, ``?`` and ``[``."""


def path_problem(given: str, allowed: Iterable[str], reader: PathReader = PathReader.HADOOP_PATTERN) -> str | None:
    """Return why a path or URI may not be used, as a sentence, or None.

    ``allowed``: folders, as paths or URIs; links are followed where they are of this machine.
    """
    folders = list(allowed)
    text = given.strip(BLANKS)  # as the parser of settings does
    try:
        problem = _form_problem(text, reader) or _place_problem(text, folders, reader)
    except (OSError, ValueError) as error:
        problem = f"can't be resolved ({error})"
    if problem is None:
        return None
    shown = text if len(text) <= 200 else f"{text[:200]}… ({len(text)} characters)"
    return f"{_escaped(shown)} {problem} `{PATHS_ALLOWED}` of the worker: {', '.join(folders) or 'none'}"


def _form_problem(text: str, reader: PathReader) -> str | None:
    """Return what is wrong with a path wherever it may lead."""
    if any(unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp") for each in text):
        return "has a control character, which is not allowed with"
    if text != text.strip():
        return "begins or ends with a space, which is not allowed with"
    if len(text) > MAX_PATH:
        return f"has more than {MAX_PATH} characters, which is not allowed with"
    if reader is not PathReader.OPEN:
        patterns = "{}\\" if reader is PathReader.HADOOP_PATTERN else "{}\\*?[]"
        for each in patterns:
            if any(each in form for form in _forms(text)):
                return f"has `{each}`, which is not allowed with"
    if any(".." in form.split("/") for form in _forms(text)):
        return "has `..`, which is not allowed with"
    return None


def _forms(text: str) -> list[str]:
    """Return a path as it is and as it is with fewer levels of percent-encoding. Raises ValueError for many levels."""
    forms = [text]
    while (decoded := unquote(forms[-1], errors="strict")) != forms[-1]:
        forms.append(decoded)
        if len(forms) > MAX_LEVELS:
            raise ValueError(f"percent-encoded more than {MAX_LEVELS} times")
    return forms


def _place_problem(text: str, folders: Sequence[str], reader: PathReader) -> str | None:
    """Return that no folder has the path. If it is percent-encoded, it has to be in a folder in either reading."""
    places = [_place(folder, PathReader.HADOOP) for folder in folders]
    for form in _forms(text):
        if reader is not PathReader.OPEN and not _SCHEME.match(form) and not form.startswith("/"):
            return "has to be absolute, to be in the folders of"
        found = _place(form, reader)
        if found is None or not any(place is not None and _is_in(found, place) for place in places):
            return "is not in the folders of"
    return None


def _place(text: str, reader: PathReader) -> tuple[str, str] | None:
    """Return what comes before the path (scheme and authority; empty for this machine's files), and the path.

    None if it is nowhere, as a path of this machine that names another one.
    """
    if reader is PathReader.OPEN:
        return "", os.path.realpath(text)
    scheme, rest = "", text
    if match := _SCHEME.match(text):
        scheme, rest = match[1].casefold(), match[2]
    authority = ""
    if rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
    if scheme in ("", "file"):
        if authority:
            return None
        return "", _real(rest, reader)
    path = posixpath.normpath(re.sub("/+", "/", rest) or "/")
    return f"{scheme}://{authority}".casefold(), path


def _real(path: str, reader: PathReader) -> str:
    """Return a path without links; of a pattern the folders before its first wildcard are those that are looked at."""
    if reader is not PathReader.HADOOP_PATTERN or not (wild := re.search(r"[*?\[]", path)):
        return os.path.realpath(path)
    plain, _, rest = path[: wild.start()].rpartition("/")
    return posixpath.join(os.path.realpath(plain or "/"), rest + path[wild.start() :])


def _is_in(place: tuple[str, str], folder: tuple[str, str]) -> bool:
    return place[0] == folder[0] and (place[1] == folder[1] or place[1].startswith(folder[1].rstrip("/") + "/"))


def _escaped(text: str) -> str:
    """Return a text with its control characters as escapes, for messages."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def outside(uris: Iterable[str], allowed: Sequence[str]) -> str | None:
    """Return why one of these files, by Hadoop's URIs of them, may not be used: it is a link that leads elsewhere."""
    for uri in uris:
        match = _SCHEME.match(uri)
        local = match is None or match[1].casefold() == "file"
        path = unquote(re.sub("^/+", "/", uri if match is None else match[2]) if local else uri)
        if problem := path_problem(path, allowed, PathReader.OPEN if local else PathReader.HADOOP_PATTERN):
            return problem
    return None


def folders_of(worker: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the allowed folders by the worker's properties; None: all."""
    given = worker.get(PATHS_ALLOWED)
    return None if given is None else tuple(parse_type(PATHS_ALLOWED, given, ConfigType.LIST))


def limit_to_folders(allowed: Iterable[str] | None) -> contextvars.Token[tuple[str, ...] | None]:
    """Let ``open_allowed`` of this thread open files of these folders only; None: of all. Called by hosts of tasks."""
    return _allowed.set(None if allowed is None else tuple(allowed))


def allowed_folders() -> tuple[str, ...] | None:
    """Return the folders of ``limit_to_folders``, or None."""
    return _allowed.get()


def open_allowed(path: str, flags: int, mode: int = 0o666) -> int:
    """Open a file as ``os.open`` does. Raises ConnectError if it is not in the allowed folders, and OSError.

    What a last link leads to is not created, and a file is checked once it is open, by its real path.
    """
    allowed = allowed_folders()
    if allowed is None:
        return os.open(path, flags | os.O_CLOEXEC, mode)
    if problem := path_problem(path, allowed, PathReader.OPEN):
        raise ConnectError(problem)
    real = os.path.realpath(path)
    opened = os.open(real, flags | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
    try:
        place = (
            os.path.realpath(f"/proc/self/fd/{opened}") if os.path.isdir("/proc/self/fd") else os.path.realpath(real)
        )
        if place != real and (problem := path_problem(place, allowed, PathReader.OPEN)):
            raise ConnectError(problem)
    except BaseException:
        os.close(opened)
        raise
    return opened
