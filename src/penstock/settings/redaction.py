"""Removes the secrets of connectors from logs, traces and statuses: the values of their secret settings are replaced.

A worker learns the values when it resolves a configuration, including those in JSON objects and in URLs. Traces may
have any text: drivers of databases above all repeat in their messages what they were configured with. What looks like a
secret is replaced as well, whatever it came from (``core.config.secret_texts``).

A value is replaced where it is a whole token, so that a weak password such as ``postgres`` is not given away by what
remains of ``postgresql``. One that is a single word or the name of a class is left in names of classes, paths, and
before ``://`` and ``=``; one that nobody would write by chance is replaced everywhere.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus, unquote

from penstock.core.config.secrets import MASK, inside, is_secret, passwords_of, without_secrets
from penstock.core.model.events import Completed, ConnectorEvent
from penstock.core.model.tasks import OffsetsReported, SkipOver, TaskEvent, TopicSeen
from penstock.java.errors import JaasError
from penstock.java.jaas import login_module
from penstock.java.parsing import BLANKS

MIN_SECRET_LENGTH = 4
"""Shorter values would be found in any text."""
MIN_REFERENCE_LENGTH = 8
"""The same for values that are not known to be secrets, such as the name of a topic."""
MAX_LINES_OF_SECRET, MAX_LINES = 100, 5_000
"""Lines of a secret, and of all secrets, that are also hidden where they are alone; the last ones learned."""
WORDS = {"true", "false", "null", "none", "basic", "bearer"}
"""Values of settings whose names look secret, such as ``token_type``, that would be found in any text."""
MAX_REMEMBERED = 10_000
"""Secrets of connectors that are remembered: the last ones learned, since providers may give others every hour."""
UNCLEANED: Mapping[type, frozenset[str]] = {
    TaskEvent: frozenset({"id"}),
    TopicSeen: frozenset({"topic"}),
    SkipOver: frozenset({"skip"}),
    OffsetsReported: frozenset({"offsets"}),
    ConnectorEvent: frozenset({"name", "version"}),
    Completed: frozenset({"value", "error"}),
}
"""Fields of events that are names, or data which others read; the texts of all other fields are cleaned.

A class stands for those that are derived from it, too.
"""
_WORD = re.compile(r"[A-Za-z_]+\d{0,4}|[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)+")
"""A word, or the name of a class or module."""
_MIN_STRONG_LENGTH, _LONG = 8, 20
_RANDOM = re.compile(r"\d[A-Za-z]+\d+[A-Za-z]|[A-Za-z]\d+[A-Za-z]+\d")
_MIXED = re.compile(r"(?=.*\d).*[A-Za-z]", re.DOTALL)
_BEFORE = r"(?:(?<!\w)|(?<=%[0-9A-Fa-f]{2})|(?<=\\[nrtbf]))"
_AFTER = r"(?!\w)"
NAMING = frozenset({"topic", "name", "direction", "unit"})
"""Members of objects in metrics that are names: figures of different topics must not get the same one."""


class Redaction:
    """Methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._own: frozenset[str] = frozenset()
        self._values: dict[str, None] = {}
        """Secrets of connectors, in the order in which they were last learned."""
        self._lines: dict[str, None] = {}
        """Lines of secrets that have several; apart, so that keys with many lines displace no password."""
        self._longest_first: tuple[str, ...] = ()

    def learn_own(self, config: Mapping[str, str], passwords: Collection[str] = ()) -> None:
        """Learn the secrets of the worker's own settings, which are remembered for as long as it runs.

        ``passwords`` are names of secret settings that don't look like it.
        """
        found = ((name, value) for name, value in config.items() if value)
        own = {secret for name, value in found for secret in _secrets(name, value, passwords)}
        self._own = frozenset(own.union(*map(_lines, own)))
        self._learn(set())

    def learn(self, config: Mapping[str, str | None], passwords: Collection[str] = ()) -> None:
        """Learn the secrets of a configuration whose references have been resolved.

        ``passwords`` are names of settings that plugins define as such.
        """
        found = ((name, value) for name, value in config.items() if value)
        self._learn({secret for name, value in found for secret in _secrets(name, value, passwords)})

    def learn_references(self, values: Collection[str]) -> None:
        """Learn values of config providers, which may be anything, host names included."""
        whole = {form for value in values if value for form in _forms(value) if len(form) >= MIN_REFERENCE_LENGTH}
        self._learn(whole.union(*(_secrets("", value) for value in values if value)))

    def _learn(self, found: set[str]) -> None:
        with self._lock:
            _keep(self._values, found - self._own, MAX_REMEMBERED)
            _keep(self._lines, {line for each in found for line in _lines(each)}, MAX_LINES)
            known = self._own | self._values.keys() | self._lines.keys()
            if len(known) != len(self._longest_first) or not known.issuperset(self._longest_first):
                self._longest_first = tuple(sorted(known, key=len, reverse=True))

    def clean(self, text: str) -> str:
        """Return a text with the mask in place of every secret that is known, or looks like one."""
        for value in self._longest_first:
            if value in text:
                text = text.replace(value, MASK) if _is_strong(value) else _token(value).sub(MASK, text)
        return without_secrets(text)

    def clean_event(self, event: Any) -> Any:
        """Return an event of a task or connector with the texts in it cleaned, but for ``UNCLEANED``."""
        if not self._longest_first or not is_dataclass(event) or isinstance(event, type):
            return event
        kept = {name for kind, names in UNCLEANED.items() if isinstance(event, kind) for name in names}
        given = {each.name: getattr(event, each.name) for each in fields(event) if each.name not in kept}
        changed = {name: cleaned for name, value in given.items() if (cleaned := self._cleaned(value)) != value}
        return replace(event, **changed) if changed else event

    def _cleaned(self, value: Any) -> Any:
        match value:
            case str():
                return self.clean(value)
            case Mapping():
                return {name: each if name in NAMING else self._cleaned(each) for name, each in value.items()}
            case list():
                return [self._cleaned(each) for each in value]
            case tuple() if type(value) is tuple:
                return tuple(self._cleaned(each) for each in value)
        return value


def _keep(kept: dict[str, None], found: Collection[str], limit: int) -> None:
    """Add texts after those that were kept before, and forget the first ones beyond the limit."""
    for each in found:
        kept.pop(each, None)
    kept |= dict.fromkeys(found)
    while len(kept) > limit:
        del kept[next(iter(kept))]


def _is_strong(value: str) -> bool:
    """Whether no name or word is likely to contain it: it is long, or changes between letters and digits often."""
    if _WORD.fullmatch(value):
        return False
    return len(value) >= _MIN_STRONG_LENGTH and (
        _RANDOM.search(value) is not None or (len(value) >= _LONG and _MIXED.search(value) is not None)
    )


@lru_cache(maxsize=4096)
def _token(value: str) -> re.Pattern[str]:
    """Return the expression that finds a value as a whole token."""
    before = _BEFORE if value[0].isalnum() or value[0] == "_" else ""
    after = _AFTER if value[-1].isalnum() or value[-1] == "_" else ""
    if _WORD.fullmatch(value):
        before, after = rf"{before}(?<!\w[.$/\\-])", rf"{after}(?![.$/\\-]\w|://|=)"
    return re.compile(before + re.escape(value) + after)


def _secrets(name: str, value: str, passwords: Collection[str] = ()) -> Iterator[str]:
    for inner, text in ((name, value), *inside(value)):
        found = passwords_of(text)
        if is_secret(inner, passwords):
            found |= {text, *_parts(inner, text)}
        for form in {form for each in found for form in _forms(each)}:
            if len(form) >= MIN_SECRET_LENGTH and form.lower() not in WORDS:
                yield form


def _lines(secret: str) -> Iterator[str]:
    """Yield the lines of a secret that has several, such as a key, since texts may have some of them."""
    if "\n" not in secret and "\\n" not in secret:
        return
    for line in re.split(r"\r?\n|\\n", secret.strip(BLANKS))[:MAX_LINES_OF_SECRET]:
        if len(line) >= MIN_REFERENCE_LENGTH and not line.startswith("-----") and not re.search(r"\s", line):
            yield line


def _parts(name: str, secret: str) -> Iterator[str]:
    """Yield the secrets inside a JAAS login or a user with a password."""
    if "LoginModule" in secret:
        with suppress(JaasError):
            yield from (text for option, text in login_module(secret).options.items() if is_secret(option))
    if name.endswith("user.info"):
        yield secret.partition(":")[2]


def _forms(secret: str) -> set[str]:
    """Return a secret as texts may have it: without the blanks around it, which files often end with and which settings
    are read without, and escaped as in URLs and in JSON.
    """
    plain = secret.strip(BLANKS)
    in_urls = (quote(plain, each, errors="surrogatepass") for each in ("", "!$&'()*+,;="))
    return {plain, unquote(plain), *in_urls, quote_plus(plain, errors="surrogatepass"), json.dumps(plain)[1:-1]}
