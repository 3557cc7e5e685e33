"""URLs of a client's requests: logins, paths and queries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import dropwhile, islice
from urllib.parse import quote, unquote

_LOGIN = re.compile(r"([A-Za-z]+://)([^/?#]*)@")


def without_login(url: str) -> tuple[str, tuple[str, str] | None]:
    """Return the URL without name and password, and these."""
    found = _LOGIN.match(url)
    if found is None:
        return url, None
    name, _, password = found[2].partition(":")
    return found[1] + url[found.end() :], (unquote(name), unquote(password))


def connector_in(path: Sequence[str]) -> str | None:
    """Return the connector that the path of a request names."""
    following = dropwhile(lambda part: part != "connectors", path)
    return next(islice(following, 1, None), None)


def escaped(part: str) -> str:
    """Return a part of a path, escaped; dots alone, too, which would name a folder."""
    return quote(part, safe="") if part.strip(".") else part.replace(".", "%2E")


def flags(**given: str | bool) -> dict[str, str]:
    """Return the query of a request, without what is false or empty."""
    return {name: str(value).lower() if value is True else str(value) for name, value in given.items() if value}
