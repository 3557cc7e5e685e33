"""A parser of JSON that accepts what Jackson accepts, with Jackson's messages; slow, for what orjson refuses.

The standard library's ``json`` refuses leading zeros, text after the value and control characters otherwise than
Jackson, and its messages are not Jackson's, which dead letters and traces carry to the letter.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.java.errors import JsonError, NumberFormatError
from penstock.java.jackson.node import MISSING, Node
from penstock.java.jackson.scanner import JsonScanner, check_digits
from penstock.java.numbers import big_decimal

_NUMBER = re.compile(r"-?(\d+)(\.\d+)?([eE][+-]?\d+)?")
_TOKEN = re.compile(r"[A-Za-z0-9_$\x80-\xff]*")
_LITERALS = {"null": None, "true": True, "false": False}
_VALID_VALUE = "(JSON String, Number, Array, Object or token 'null', 'true' or 'false')"


class Parser(JsonScanner):
    """The values."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.depth = 0

    def document(self) -> Node:
        self._blank()
        if self.i == len(self.text):
            return MISSING
        found = self._value()
        following = self.text[self.i : self.i + 1]
        if type(found) in (int, Decimal) and following and following not in " \t\r\n":
            raise self._unexpected("Expected space separating root-level values")
        return found

    def _value(self) -> Node:
        char = self.text[self.i]
        match char:
            case "{":
                return self._object()
            case "[":
                return self._array()
            case '"':
                return self._string()
            case "]" | "}" if self.depth:
                raise self._unexpected("expected a value")
            case "]" | "}":
                kind = "Array" if char == "]" else "Object"
                raise self._error(f"Unexpected close marker '{char}': no open {kind} to close")
            case ",":
                raise self._unexpected("expected a value")
            case "+":
                raise self._error(
                    "Unexpected character ('+' (code 43)) in numeric value: JSON spec does not allow numbers to have "
                    "plus signs: enable `JsonReadFeature.ALLOW_LEADING_PLUS_SIGN_FOR_NUMBERS` to allow"
                )
        if char == "-" or char.isdecimal():
            return self._number()
        return self._literal(char)

    def _number(self) -> int | Decimal:
        found = _NUMBER.match(self.text, self.i)
        if found is None:
            raise self._no_number()
        self.i = found.end()
        following = self.text[self.i : self.i + 1]
        if following == "." and found[2] is None:
            self.i += self.i + 1 < len(self.text)
            raise self._bad_digit("Decimal point not followed by a digit")
        if following in ("e", "E") and found[3] is None:
            self.i += 1
            raise self._bad_digit("Exponent indicator not followed by a digit")
        check_digits(sum(map(str.isdecimal, found[0])))
        if found[2] is None and found[3] is None:
            return int(found[0])
        try:
            return big_decimal(found[0])
        except NumberFormatError as error:
            raise self._error(f"Malformed numeric value ({found[0]})") from error

    def _no_number(self) -> JsonError:
        if self.text.startswith("-I", self.i):
            token = _TOKEN.match(self.text, self.i + 1)
            assert token is not None
            return self._not_standard(f"-{token[0]}")
        self.i += 1
        return self._bad_digit("expected digit (0-9) to follow minus sign, for valid numeric value")

    def _bad_digit(self, problem: str) -> JsonError:
        char = self.text[self.i : self.i + 1]
        if not char:
            return self._end(" in null")
        return self._error(f"Unexpected character ('{char}' (code {ord(char)})) in numeric value: {problem}")

    def _not_standard(self, token: str) -> JsonError:
        return self._error(f"Non-standard token '{token}': enable `JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS` to allow")

    def _literal(self, char: str) -> Node:
        found = _TOKEN.match(self.text, self.i)
        assert found is not None
        token = found[0]
        if token in _LITERALS:
            self.i = found.end()
            return _LITERALS[token]
        if token in ("NaN", "Infinity"):
            raise self._not_standard(token)
        if char == "/":
            raise self._unexpected(
                "maybe a (non-standard) comment? (not recognized as one since Feature 'ALLOW_COMMENTS' "
                "not enabled for parser)"
            )
        if token:
            raise self._error(f"Unrecognized token '{token}': was expecting {_VALID_VALUE}")
        if char < " ":
            raise self._error(
                f"Illegal character ((CTRL-CHAR, code {ord(char)})): "
                "only regular white space (\\r, \\n, \\t) is allowed between tokens"
            )
        raise self._unexpected(f"expected a valid value {_VALID_VALUE}")

    def _array(self) -> list[Node]:
        return self._entries("Array", "]", self._array_entry, [])

    def _object(self) -> dict[str, Node]:
        return self._entries("Object", "}", self._object_entry, {})

    def _entries(self, kind: str, close: str, entry: Callable[[Any], None], into: Any) -> Any:
        start = self.i
        self.i += 1
        self.depth += 1
        char = self._blank()
        while char != close:
            if not char:
                raise self._unclosed(kind, start)
            entry(into)
            char = self._blank()
            if char == ",":
                self.i += 1
                char = self._blank()
                if not char:
                    raise self._error(f"Unexpected end-of-input within/between {kind} entries")
                if char == close and kind == "Array":
                    raise self._unexpected("expected a value")
                if char == close:
                    raise self._unexpected("was expecting double-quote to start field name")
            elif char in ("]", "}") and char != close:
                where = f"(for {kind} starting at {self._place(start)})"
                raise self._error(f"Unexpected close marker '{char}': expected '{close}' {where}")
            elif char and char != close:
                raise self._unexpected(f"was expecting comma to separate {kind} entries")
        self.i += 1
        self.depth -= 1
        return into

    def _unclosed(self, kind: str, start: int) -> JsonError:
        return self._end(f": expected close marker for {kind} (start marker at {self._place(start)})")

    def _array_entry(self, into: list[Node]) -> None:
        into.append(self._value())

    def _object_entry(self, into: dict[str, Node]) -> None:
        if self.text[self.i] != '"':
            raise self._unexpected("was expecting double-quote to start field name")
        name = self._name()
        char = self._blank()
        if not char:
            raise self._end(" within/between Object entries")
        if char != ":":
            raise self._unexpected("was expecting a colon to separate field name and value")
        self.i += 1
        if not self._blank():
            raise self._end(" within/between Object entries")
        into[name] = self._value()
