"""Characters of JSON: positions, blanks, strings, names of members, errors, and limits of length and depth.

Java: ``StreamReadConstraints`` of Jackson, with its defaults.
"""

from __future__ import annotations

import re

from penstock.java.errors import JsonError
from penstock.java.jackson.utf8 import Utf8Error, decode, joined

_BLANK = re.compile(r"[ \t\r\n]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_HEX = re.compile(r"[0-9A-Fa-f]{0,4}")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class JsonScanner:
    """Reads bytes as Latin-1, so that positions are those of bytes; texts are decoded where they end."""

    def __init__(self, data: bytes) -> None:
        self.text = data.decode("latin-1")
        self.i = 0

    def _blank(self) -> str:
        """The next character that counts, empty at the end."""
        blank = _BLANK.match(self.text, self.i)
        assert blank is not None
        self.i = blank.end()
        return self.text[self.i : self.i + 1]

    def _error(self, problem: str, kind: str = "JsonParseException") -> JsonError:
        package = "com.fasterxml.jackson.core." + ("io." if kind == "JsonEOFException" else "")
        return JsonError(f"{package}{kind}: {problem}\n at {self._place(self.i)}")

    def _place(self, index: int) -> str:
        line = self.text.count("\n", 0, index) + 1
        column = index - self.text.rfind("\n", 0, index)
        source = "REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled)"
        return f"[Source: {source}; line: {line}, column: {column}]"

    def _unexpected(self, problem: str) -> JsonError:
        char = self.text[self.i : self.i + 1]
        if not char:
            return self._end(" in null")
        return self._error(f"Unexpected character ('{char}' (code {ord(char)})){problem and ': ' + problem}")

    def _end(self, where: str) -> JsonError:
        return self._error(f"Unexpected end-of-input{where}", "JsonEOFException")

    def _string(self) -> str:
        """A text that is a value; halves of surrogate pairs may stand in it as escapes."""
        self.i += 1
        parts: list[str] = []
        while True:
            start = self._skip_plain()
            try:
                parts.append(decode(self.text, start, self.i))
            except Utf8Error as error:
                self.i = error.end
                raise self._error(error.problem) if error.problem else self._end(" in VALUE_STRING") from None
            if self._closed("VALUE_STRING", "string value"):
                return joined("".join(parts))
            parts.append(self._escape())

    def _name(self) -> str:
        """The name of a member, where a surrogate must have its other half, and bytes are decoded at the end."""
        self.i += 1
        parts: list[str] = []
        problem: Utf8Error | None = None
        while True:
            plain = self.text[self._skip_plain() : self.i]
            try:
                parts.append(decode(plain, 0, len(plain)))
            except Utf8Error as error:
                problem = problem or error
            if self._closed("field name", "name"):
                break
            parts.append(self._whole_escape())
        if problem is not None:
            raise self._error(problem.problem) if problem.problem else self._end(" in field name")
        return joined("".join(parts))

    def _skip_plain(self) -> int:
        """Go to the next character that is special in a text; gives the place before."""
        start = self.i
        plain = _PLAIN.match(self.text, start)
        assert plain is not None
        self.i = plain.end()
        return start

    def _closed(self, where: str, what: str) -> bool:
        """Whether a quote ends the text here, otherwise there is an escape."""
        char = self.text[self.i : self.i + 1]
        if char == '"':
            self.i += 1
            return True
        if not char:
            raise self._end(f" in {where}")
        if char != "\\":
            raise self._error(
                f"Illegal unquoted character ((CTRL-CHAR, code {ord(char)})): "
                f"has to be escaped using backslash to be included in {what}"
            )
        return False

    def _escape(self) -> str:
        self.i += 1
        char = self.text[self.i : self.i + 1]
        if not char:
            raise self._end(" in character escape sequence")
        if char not in _ESCAPES and char != "u":
            raise self._error(f"Unrecognized character escape '{char}' (code {ord(char)})")
        self.i += 1
        if char != "u":
            return _ESCAPES[char]
        digits = _HEX.match(self.text, self.i)
        assert digits is not None
        self.i = digits.end()
        if len(digits[0]) == 4:
            return chr(int(digits[0], 16))
        if self.i == len(self.text):
            raise self._end(" in character escape sequence")
        raise self._unexpected("expected a hex-digit for character escape sequence")

    def _whole_escape(self) -> str:
        """A character, which may need two escapes."""
        high = self._escape()
        if "\udc00" <= high <= "\udfff":
            raise self._error(f"Unexpected low surrogate in field name: 0x{ord(high):04x}")
        if not "\ud800" <= high <= "\udbff":
            return high
        char = self.text[self.i : self.i + 1]
        if not char:
            raise self._end(" in field name")
        broken = "Broken surrogate pair in field name: expected"
        if char != "\\":
            raise self._error(f"{broken} '\\' to start low surrogate, got 0x{ord(char):x}")
        low = self._escape()
        if not "\udc00" <= low <= "\udfff":
            raise self._error(f"{broken} low surrogate, got 0x{ord(low):04X}")
        return high + low


DIGITS, LEVELS = 1000, 1000
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)


def check_digits(count: int) -> None:
    """Raises JsonError for a number that has so many digits, those of its exponent among them."""
    if count > DIGITS:
        raise _exceeded("Number value length", count, DIGITS, "getMaxNumberLength")


def too_deep(data: bytes) -> JsonError:
    """The error for a text that is nested so deeply that it can't be read here."""
    depth = 0
    for found in _BRACKET.finditer(data.decode("latin-1")):
        if found[0] in "[{":
            depth += 1
        elif found[0] in "]}":
            depth -= 1
        if depth > LEVELS:
            return _exceeded("Document nesting depth", depth, LEVELS, "getMaxNestingDepth")
    return JsonError("The JSON is nested too deeply")


def _exceeded(what: str, found: int, most: int, method: str) -> JsonError:
    return JsonError(
        f"com.fasterxml.jackson.core.exc.StreamConstraintsException: {what} ({found}) exceeds the maximum allowed "
        f"({most}, from `StreamReadConstraints.{method}()`)"
    )
