"""The characters of a Java regular expression one after the other: escapes, and character classes as sets."""

from __future__ import annotations

import re

from penstock.java.errors import PatternError
from penstock.java.regex.classes import ESCAPED_CLASSES, CharSet, property_class

_ESCAPED_CHARACTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}


class RegexScanner:
    """A place in a pattern, and the flags in force there."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.i = 0
        self.flags: frozenset[str] = frozenset()

    def _error(self, description: str, index: int | None = None) -> PatternError:
        return PatternError(description, self.i if index is None else index, self.pattern)

    def _peek(self, ahead: int = 0) -> str:
        return self.pattern[self.i + ahead : self.i + ahead + 1]

    def _take(self) -> str:
        char = self._peek()
        self.i += 1
        return char

    def _escaped_class(self) -> CharSet | None:
        """The set of ``\\d``, ``\\p{Alpha}`` and the like at this place (after the backslash), consumed; None if there
        is none.
        """
        char = self._peek()
        if char in ESCAPED_CLASSES:
            self.i += 1
            return ESCAPED_CLASSES[char]
        if char not in ("p", "P"):
            return None
        self.i += 1
        name = self._take()
        if name == "{":
            end = self.pattern.find("}", self.i)
            if end < 0:
                raise self._error("Unclosed character family", len(self.pattern))
            name = self.pattern[self.i : end]
            self.i = end + 1
            if not name:
                raise self._error("Empty character family", self.i - 1)
        found = property_class(name)
        if found is None:
            raise self._error(f"Unknown character property name {{{name}}}", self.i - 1)
        return found if char == "p" else found.negated()

    def _escaped_character(self) -> str:
        """The one character that an escape stands for, which is consumed from after its backslash."""
        char = self._take()
        if char in _ESCAPED_CHARACTERS:
            return _ESCAPED_CHARACTERS[char]
        match char:
            case "0":
                if self._peek() not in tuple("01234567"):
                    raise self._error("Illegal octal escape sequence")
                return chr(int(self._digits(r"[0-3]?[0-7]{1,2}", "Illegal octal escape sequence"), 8))
            case "x" if self._peek() == "{":
                self.i += 1
                code = int(self._digits(r"[0-9A-Fa-f]+", "Illegal hexadecimal escape sequence"), 16)
                if self._take() != "}":
                    raise self._error("Unclosed hexadecimal escape sequence")
                if code > 0x10FFFF:
                    raise self._error("Hexadecimal codepoint is too big")
                return chr(code)
            case "x":
                return chr(int(self._digits(r"[0-9A-Fa-f]{2}", "Illegal hexadecimal escape sequence"), 16))
            case "u":
                return self._unicode()
            case "c":
                if not self._peek():
                    raise self._error("Illegal control escape sequence", self.i - 1)
                return chr(ord(self._take()) ^ 64)
        if char.isascii() and char.isalpha():
            raise self._error("Illegal/unsupported escape sequence", self.i - 1)
        return char

    def _unicode(self) -> str:
        code = int(self._digits(r"[0-9A-Fa-f]{4}", "Illegal Unicode escape sequence"), 16)
        low = re.compile(r"\\u([dD][c-fC-F][0-9A-Fa-f]{2})").match(self.pattern, self.i)
        if 0xD800 <= code < 0xDC00 and low is not None:
            self.i = low.end()
            code = 0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00
        return chr(code)

    def _digits(self, form: str, description: str) -> str:
        match = re.compile(form).match(self.pattern, self.i)
        if match is None:
            while self._peek() and self._peek() in "0123456789abcdefABCDEF":
                self.i += 1
            raise self._error(description)
        self.i = match.end()
        return match[0]

    def _class_set(self) -> CharSet:
        """The set described after a ``[``, up to and with its ``]``."""
        negated = self._peek() == "^"
        self.i += negated
        result: CharSet | None = None
        current: CharSet | None = None
        while True:
            char = self._peek()
            if not char:
                raise self._error("Unclosed character class", len(self.pattern) - 1)
            if char == "]" and (result is not None or current is not None):
                self.i += 1
                break
            if self.pattern.startswith("&&", self.i):
                while self._peek() == "&":
                    self.i += 1
                if current is not None:
                    result = current if result is None else result & current
                current = None
                continue
            item = self._class_item()
            if item is not None:
                current = item if current is None else current | item
        if result is None:
            result = current
        elif current is not None:
            result &= current
        assert result is not None
        return result.negated() if negated else result

    def _class_item(self) -> CharSet | None:
        char = self._take()
        if char == "[":
            return self._class_set()
        if "x" in self.flags and char in " \t\n\x0b\f\r":
            return None
        if char == "\\":
            if self._peek() == "Q":
                end = self.pattern.find("\\E", self.i)
                text = self.pattern[self.i + 1 : end if end >= 0 else len(self.pattern)]
                self.i = end + 2 if end >= 0 else len(self.pattern)
                return CharSet.of(*((ord(c), ord(c)) for c in text)) if text else None
            if self._peek() == "E":
                self.i += 1
                return None
            if (found := self._escaped_class()) is not None:
                return found
            char = self._escaped_character()
        if self._peek() == "-" and self._peek(1) and self._peek(1) not in "][":
            self.i += 1
            last = self._take()
            if last == "\\":
                if self._escaped_class() is not None:
                    raise self._error("Illegal character range", self.i - 1)
                last = self._escaped_character()
            if last < char:
                raise self._error("Illegal character range", self.i - 1)
            return self._with_case(CharSet.of((ord(char), ord(last))))
        return self._with_case(CharSet.of((ord(char), ord(char))))

    def _with_case(self, chars: CharSet) -> CharSet:
        """With both cases of ASCII letters where case does not count: a negated set must not hold the other case."""
        return chars.with_both_cases() if "i" in self.flags else chars
