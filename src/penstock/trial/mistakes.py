"""Errors of a worker about a wrong configuration, shortened."""

from __future__ import annotations

import re
from collections.abc import Mapping

from penstock.core.config.connector import CONNECTOR_CLASS
from penstock.core.config.unknown.similar_names import similar

_NO_CONNECTOR = re.compile(
    r".*Failed to find any class that implements Connector and which name matches (\S+), "
    r".*?(\. Did you mean '[^{}]+'\?)?",
    re.DOTALL,
)
_NO_TYPE = re.compile(r"Connector config \{.*\} contains no connector type", re.DOTALL)
_ENDPOINT = re.compile(r"\nYou can also find the above list of errors at the endpoint `[^`]*`")


def in_short(message: str, config: Mapping[str, str | None]) -> str:
    """``message`` for its reader at a terminal."""
    if missing := _NO_CONNECTOR.fullmatch(message):
        meant = missing[2] or ". A plugin that can't be loaded is named above, with the reason."
        return f"There is no connector `{missing[1]}`, which {CONNECTOR_CLASS} names{meant}"
    if _NO_TYPE.fullmatch(message):
        given = next((name for name in config if similar(name, [CONNECTOR_CLASS])), None)
        return f"{CONNECTOR_CLASS} is missing" + (f"; is it meant by `{given}`?" if given else ".")
    return _ENDPOINT.sub("", message)
