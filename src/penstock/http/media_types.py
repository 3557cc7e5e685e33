"""Content types of requests and replies: 415 and 406, as Java's server decides them."""

from __future__ import annotations

import re
from functools import lru_cache

from penstock.core.model.messages import Refused

JSON = "application/json"

_TOKEN = r"[\w!#$%&'*+.^`|~-]+"
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_QUALITY = r"(?:0(?:\.\d{0,3})?|\.\d{1,3}|1(?:\.0{0,3})?)"
_PARAMETER = rf"{_TOKEN}=(?:{_TOKEN}|{_QUOTED})"
_PARAMETER_OF_RANGE = rf'(?:[qQ]=(?:{_QUALITY}|"{_QUALITY}")(?=[\s;,]|$)|(?![qQ]=){_PARAMETER})'
_MEDIA_TYPE = re.compile(rf"\s*{_TOKEN}/{_TOKEN}\s*(?:;\s*(?:{_PARAMETER}\s*)?)*", re.ASCII)
_RANGE = re.compile(rf"\s*{_TOKEN}(?:/{_TOKEN})?\s*(?:;\s*(?:{_PARAMETER_OF_RANGE}\s*)?)*", re.ASCII)
_RANGES = re.compile(rf"{_RANGE.pattern}(?:,{_RANGE.pattern})*(?:,\s*)?", re.ASCII)


@lru_cache(maxsize=64)
def check_content_type(header: str | None) -> None:
    """Check the content type of a body.

    Raises Refused for a malformed header (400), and for any type but JSON (415).
    """
    if header is None:
        return
    if not _MEDIA_TYPE.fullmatch(header):
        raise Refused(400, "HTTP 400 Bad Request")
    if not _covers(header, JSON):
        raise unsupported()


def says_json(header: str | None) -> bool:
    """Return whether a body with this content type may be read; wildcards, unlike elsewhere, are not accepted."""
    return (header or "").partition(";")[0].strip().lower() == JSON


def unsupported() -> Refused:
    return Refused(415, "HTTP 415 Unsupported Media Type")


@lru_cache(maxsize=64)
def check_accept(header: str | None, produced: str) -> None:
    """Check the header ``Accept``. Raises Refused for a malformed header (400), and for one without the type that is
    produced (406).

    ``q`` is checked, and ignored.
    """
    if header is None or not header.strip():
        return
    if not _RANGES.fullmatch(header):
        raise Refused(400, "HTTP 400 Bad Request")
    if not any(_covers(each, produced) for each in _RANGE.findall(header)):
        raise Refused(406, "HTTP 406 Not Acceptable")


def _covers(range: str, kind: str) -> bool:
    """Return whether a range covers a type: ``*/*``, ``application/*`` and ``application/json`` cover
    ``application/json``.
    """
    type, _, subtype = range.partition(";")[0].strip().lower().partition("/")
    wanted_type, _, wanted_subtype = kind.partition("/")
    return type in ("*", wanted_type) and subtype in ("", "*", wanted_subtype)
