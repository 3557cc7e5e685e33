"""Whether a file or folder is in one of the folders that a worker allows."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit


def path_problem(given: str, allowed: Iterable[str]) -> str | None:
    """Why a path or URI may not be used, as a sentence without the setting at its end; None if it may.

    Links are followed where they are of this machine. Patterns of Spark that can leave a folder are not allowed.
    """
    given = given.strip()
    if ".." in given.replace("\\", "/").split("/") or "{" in given or "%2e" in given.casefold():
        return f"{given} has `..` or `{{`, which is not allowed with"
    place = _place(given)
    if any(_is_in(place, _place(folder)) for folder in allowed):
        return None
    return f"{given} is not in the folders of"


def _place(text: str) -> tuple[str, str]:
    """What comes before the path (a scheme and a host; empty for this machine's files), and the path."""
    parts = urlsplit(text.strip())
    if len(parts.scheme) > 1 and parts.scheme.casefold() != "file":
        path = posixpath.normpath(unquote(parts.path) or "/")
        return f"{parts.scheme}://{parts.netloc}".casefold(), path
    if parts.scheme.casefold() == "file":
        text = unquote(parts.path)
    return "", os.path.realpath(text)


def _is_in(place: tuple[str, str], folder: tuple[str, str]) -> bool:
    return place[0] == folder[0] and (place[1] == folder[1] or place[1].startswith(folder[1].rstrip("/") + "/"))
