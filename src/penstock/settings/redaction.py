"""Keeps the secrets of connectors out of logs, traces and statuses: the values of their secret settings are replaced.

A worker learns the values when it resolves a configuration, those in JSON objects and in URLs too. Traces come from
anywhere, drivers of databases above all, whose messages repeat what they were configured with.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from typing import Any
from urllib.parse import quote, quote_plus, unquote

from penstock.core.config.secrets import MASK, inside, is_secret, passwords_of
from penstock.java.errors import JaasError
from penstock.java.jaas import login_module
from penstock.java.parsing import BLANKS

SHORTEST = 4
"""Shorter values would be found in any text."""
SHORTEST_REFERENCE = 8
"""The same of values that are not known to be secrets, such as the name of a topic."""
WORDS = {"true", "false", "null", "none", "basic", "bearer"}
"""Values of settings whose names look secret, such as ``token_type``, that would be found in any text."""
MOST = 10_000
"""Those of connectors that are remembered: what was learned last, since providers may give others every hour."""
TEXTS = ("trace", "reason", "degraded_reason", "text", "values")
"""The fields of events that have texts from tasks."""


class Redaction:
    """Methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._own: frozenset[str] = frozenset()
        self._values: dict[str, None] = {}
        """Those of connectors, the ones that were learned last at the end."""
        self._longest_first: tuple[str, ...] = ()

    def learn_own(self, config: Mapping[str, str]) -> None:
        """The secrets of the worker's own settings, which are remembered for as long as it runs."""
        self._own = frozenset(secret for name, value in config.items() if value for secret in _secrets(name, value))
        self._learn(set())

    def learn(self, config: Mapping[str, str | None], passwords: Collection[str] = ()) -> None:
        """The secrets of a configuration whose references have been resolved. ``passwords``: settings of that type."""
        found = ((name, value) for name, value in config.items() if value)
        self._learn({secret for name, value in found for secret in _secrets(name, value, passwords)})

    def learn_references(self, values: Collection[str]) -> None:
        """Values of config providers, which may be anything: host names, too."""
        whole = {form for value in values if value for form in _forms(value) if len(form) >= SHORTEST_REFERENCE}
        self._learn(whole.union(*(_secrets("", value) for value in values if value)))

    def _learn(self, found: set[str]) -> None:
        with self._lock:
            for each in found & self._values.keys():
                del self._values[each]
            self._values |= dict.fromkeys(found - self._own)
            while len(self._values) > MOST:
                del self._values[next(iter(self._values))]
            known = self._own | self._values.keys()
            if len(known) != len(self._longest_first) or not known.issuperset(self._longest_first):
                self._longest_first = tuple(sorted(known, key=len, reverse=True))

    def clean(self, text: str) -> str:
        for value in self._longest_first:
            if value in text:
                text = text.replace(value, MASK)
        return text

    def clean_event(self, event: Any) -> Any:
        """With the texts of a task's or connector's event cleaned."""
        if not self._longest_first or not is_dataclass(event) or isinstance(event, type):
            return event
        changed = {
            each.name: cleaned
            for each in fields(event)
            if each.name in TEXTS
            and (cleaned := self._cleaned(given := getattr(event, each.name))) is not given
            and cleaned != given
        }
        return replace(event, **changed) if changed else event

    def _cleaned(self, given: Any) -> Any:
        match given:
            case str():
                return self.clean(given)
            case dict():
                return {name: self.clean(value) if isinstance(value, str) else value for name, value in given.items()}
        return given


def _secrets(name: str, value: str, passwords: Collection[str] = ()) -> Iterator[str]:
    for inner, text in ((name, value), *inside(value)):
        found = passwords_of(text)
        if is_secret(inner, passwords):
            found |= {text, *_parts(inner, text)}
        for form in {form for each in found for form in _forms(each)}:
            if len(form) >= SHORTEST and form.lower() not in WORDS:
                yield form


def _parts(name: str, secret: str) -> Iterator[str]:
    """The secrets in one that has a form of its own: a login of JAAS, a user with a password."""
    if "LoginModule" in secret:
        with suppress(JaasError):
            yield from (text for option, text in login_module(secret).options.items() if is_secret(option))
    if name.endswith("user.info"):
        yield secret.partition(":")[2]


def _forms(secret: str) -> set[str]:
    """As texts may have it: without the blanks around it, which files often end with and which settings are read
    without, and escaped as in URLs and in JSON.
    """
    plain = secret.strip(BLANKS)
    in_urls = (quote(plain, each, errors="surrogatepass") for each in ("", "!$&'()*+,;="))
    return {plain, unquote(plain), *in_urls, quote_plus(plain, errors="surrogatepass"), json.dumps(plain)[1:-1]}
