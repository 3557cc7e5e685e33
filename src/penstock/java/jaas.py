"""Java's JAAS configurations: login modules with their options, in a setting or in the sections of a file.

Java: ``com.sun.security.auth.login.ConfigFile``; Kafka's ``JaasConfig`` for ``sasl.jaas.config``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from penstock.java.errors import JaasError

_BLANK = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NAME = re.compile(r"[\w.$\-]+")
_FLAG = re.compile(r"(?:required|requisite|sufficient|optional)\b", re.IGNORECASE)
_VALUE = re.compile(r""""((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+)""", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class LoginModule(NamedTuple):
    class_name: str
    options: Mapping[str, str]


def login_module(text: str) -> LoginModule:
    """The one module of ``<class> required name="value" ...;``. Raises JaasError."""
    read = _Reader(text)
    found = read.module()
    if not read.at_end():
        raise JaasError("There should be nothing after the first login module and its semicolon")
    return found


def sections(text: str) -> dict[str, list[LoginModule]]:
    """The modules by the name of their section, ``<name> { <class> required ...; ... };``. Raises JaasError."""
    read = _Reader(text)
    found: dict[str, list[LoginModule]] = {}
    while not read.at_end():
        name = read.expect(_NAME, "A section should begin with its name")
        read.symbol("{", f"The name of section {name} should be followed by an opening brace")
        modules = found.setdefault(name, [])
        while not read.skip("}"):
            modules.append(read.module())
        read.symbol(";", f"Section {name} should end with a semicolon after its closing brace")
    return found


class _Reader:
    """A position in a text; blanks and comments before a token are skipped."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def module(self) -> LoginModule:
        class_name = self.expect(_NAME, 'It should be `<login module> required name="value" ...;`')
        self.expect(_FLAG, 'It should be `<login module> required name="value" ...;`')
        options: dict[str, str] = {}
        while not self.skip(";"):
            name = self.expect(_NAME, "It should end with a semicolon after its last option")
            self.symbol("=", 'Each option should be `name=value` or `name="value"`')
            options[name] = _ESCAPE.sub(r"\1", self.expect(_VALUE, "Each option should have a value"))
        return LoginModule(class_name, options)

    def at_end(self) -> bool:
        self._skip_blank()
        return self._at == len(self._text)

    def skip(self, symbol: str) -> bool:
        """Whether this symbol comes next; it is consumed."""
        self._skip_blank()
        found = self._text.startswith(symbol, self._at)
        self._at += len(symbol) * found
        return found

    def symbol(self, symbol: str, problem: str) -> None:
        if not self.skip(symbol):
            raise JaasError(problem)

    def expect(self, token: re.Pattern[str], problem: str) -> str:
        """The next token, without its quotes."""
        self._skip_blank()
        found = token.match(self._text, self._at)
        if found is None:
            raise JaasError(problem)
        self._at = found.end()
        return next((group for group in found.groups() if group is not None), found[0])

    def _skip_blank(self) -> None:
        blank = _BLANK.match(self._text, self._at)
        assert blank is not None
        self._at = blank.end()
