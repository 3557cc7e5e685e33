"""A compiled regular expression whose matching ends: users write these patterns, and processes that must stay alive
match them.

``re`` matches with the interpreter's lock held, and some patterns (``(a+)+b``) take it longer than anybody waits. So
only patterns with few choices are matched by ``re``, with texts as long as names are. All others are matched by the
package ``regex``, which releases the lock and ends after a time; Java would not end either.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import regex

from penstock.java.errors import MatchTimeoutError

TIMEOUT_S = 2.0
"""Seconds of the processor for one match."""
MAX_NAME_LENGTH = 255
"""Characters of a text that ``re`` may match: the names of topics have at most 249."""
_SHOWN = 60
_ASCII_BOUNDARY = r"(?:(?<=[0-9A-Za-z_])(?![0-9A-Za-z_])|(?<![0-9A-Za-z_])(?=[0-9A-Za-z_]))"
_NO_ASCII_BOUNDARY = r"(?:(?<=[0-9A-Za-z_])(?=[0-9A-Za-z_])|(?<![0-9A-Za-z_])(?![0-9A-Za-z_]))"
_ESCAPE = re.compile(r"\\.", re.DOTALL)


class JavaPattern:
    """Compiled pattern returned by ``compile_regex``: the methods of ``re.Pattern`` that Java's dialect needs.

    The methods raise MatchTimeoutError if matching takes too long.
    """

    def __init__(self, source: str, translated: str, has_many_choices: bool) -> None:
        """Raises re.error, OverflowError, RecursionError for a translation that Python refuses."""
        plain = re.compile(translated, re.ASCII)
        self.pattern = source
        self.groups: int = plain.groups
        self.groupindex: Mapping[str, int] = plain.groupindex
        self._plain = None if has_many_choices else plain
        self._translated = translated
        self._bounded: Any = _compiled(translated) if has_many_choices else None
        """Made for the first long text if there are few."""

    def __repr__(self) -> str:
        return f"JavaPattern({self.pattern!r})"

    def fullmatch(self, text: str) -> Any:
        """A match object if the pattern describes the whole text, otherwise None."""
        return self._matched("fullmatch", text)

    def search(self, text: str, start: int = 0) -> Any:
        """The first match at ``start`` or after it, otherwise None."""
        return self._matched("search", text, start)

    def sub(self, replace: Callable[[Any], str], text: str, count: int = 0) -> str:
        if self._plain is not None and len(text) <= MAX_NAME_LENGTH:
            return self._plain.sub(replace, text, count)
        parts: list[str] = []
        start = end = 0
        while start <= len(text) and (found := self.search(text, start)) is not None:
            parts += (text[end : found.start()], replace(found))
            end = found.end()
            start = end + (found.start() == end)
            count -= 1
            if count == 0:
                break
        return "".join(parts) + text[end:]

    def _matched(self, method: str, text: str, start: int = 0) -> Any:
        if self._plain is not None and len(text) <= MAX_NAME_LENGTH:
            return getattr(self._plain, method)(text, start)
        if self._bounded is None:
            self._bounded = _compiled(self._translated)
        try:
            return getattr(self._bounded, method)(text, start, timeout=TIMEOUT_S, concurrent=True)
        except TimeoutError:
            raise MatchTimeoutError(_shown(self.pattern), _shown(text), TIMEOUT_S) from None


def _compiled(translated: str) -> Any:
    """``regex`` has one setting of ASCII for a whole pattern; with ``(?u)`` in it, ``\\b`` is spelled out."""
    if "(?iu:" not in translated:
        return regex.compile(translated, regex.VERSION0 | regex.ASCII)
    spelled = {r"\b": _ASCII_BOUNDARY, r"\B": _NO_ASCII_BOUNDARY}
    translated = _ESCAPE.sub(lambda found: spelled.get(found[0], found[0]), translated)
    return regex.compile(translated.replace("(?iu:", "(?i:"), regex.VERSION0)


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
