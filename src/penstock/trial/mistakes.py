"""What a worker says of a wrong configuration, in fewer words, and with the name that was probably meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

_NO_CONNECTOR = re.compile(
    r".*Failed to find any class that implements Connector and which name matches (\S+), .*", re.DOTALL
)
_NO_TYPE = re.compile(r"Connector config \{.*\} contains no connector type", re.DOTALL)
_NOT_FOUND = re.compile(r"(Class (\S+) could not be found\.)")
_ENDPOINT = re.compile(r"\nYou can also find the above list of errors at the endpoint `[^`]*`")


def in_short(message: str, config: Mapping[str, str | None], classes: Iterable[str]) -> str:
    """``message`` for its reader at a terminal; ``classes`` are the plugins that the worker has."""
    known = list(classes)
    if missing := _NO_CONNECTOR.fullmatch(message):
        meant = _meant(missing[1], known) or " A plugin that can't be loaded is named above, with the reason."
        return f"There is no connector `{missing[1]}`, which connector.class names.{meant}"
    if _NO_TYPE.fullmatch(message):
        close = difflib.get_close_matches("connector.class", config, 1)
        return "connector.class is missing" + (f"; is it meant by `{close[0]}`?" if close else ".")
    message = _ENDPOINT.sub("", message)
    return _NOT_FOUND.sub(lambda found: found[1] + _meant(found[2], known), message)


def _meant(name: str, classes: Iterable[str]) -> str:
    """By its full name, or by the last part of it."""
    full = list(classes)
    short = {each.rpartition(".")[2].removesuffix("Connector"): each for each in full}
    short |= {each.rpartition(".")[2]: each for each in full}
    close = difflib.get_close_matches(name, full, 1, 0.7) if "." in name else []
    close = close or [short[each] for each in difflib.get_close_matches(name.rpartition(".")[2], short, 1, 0.7)]
    return f" Did you mean {close[0]}?" if close else ""
