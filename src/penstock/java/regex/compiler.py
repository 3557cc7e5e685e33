"""Java's regular expressions (``java.util.regex``) in terms of Python's ``re``.

Everything that the two dialects spell differently is translated: quoting by ``\\Q...\\E``, nested character classes
with unions and intersections, POSIX and Unicode classes, flags in the middle, what ``.`` and ``$`` take for the end of
a line. What can't be expressed (lookbehinds of variable width, ``\\G``, ``\\X``, ``(?U)``) is refused with a
PatternError, as are patterns that Java refuses, with Java's description.
"""

from __future__ import annotations

import re
from functools import lru_cache

import regex

from penstock.java.errors import PatternError
from penstock.java.regex.classes import show_class
from penstock.java.regex.pattern import JavaPattern
from penstock.java.regex.scanner import RegexScanner

_LINE_ENDS = r"\n\r\x85\u2028\u2029"
_END = rf"(?=(?:\r\n|[{_LINE_ENDS}])?\Z)"
_MULTILINE_END = rf"(?:(?=[{_LINE_ENDS}])(?<!\r(?=\n))|\Z)"
_MULTILINE_START = rf"(?:(?<![\s\S])|(?<=[{_LINE_ENDS}])(?<!\r(?=\n))(?!\Z))"
_FLAGS = "idmsuxU"
_LONGEST = 100_000
_MOST_REPETITIONS = 10_000
_FEW_CHOICES = 3
"""A match of a text of n characters takes ``re`` at most in the order of n to this power."""


@lru_cache(256)
def compile_regex(pattern: str) -> JavaPattern:
    """The pattern that matches what Java's ``Pattern.compile(pattern)`` matches; raises PatternError."""
    if len(pattern) > _LONGEST:
        raise PatternError(f"Not supported here (longer than {_LONGEST} characters)", -1, pattern[:100])
    try:
        translation = _Translation(pattern)
        translated = translation.translated()
        return JavaPattern(pattern, translated, translation.choices > _FEW_CHOICES)
    except (re.error, regex.error, OverflowError, RecursionError) as error:
        reason = getattr(error, "msg", str(error))
        raise PatternError(f"Not supported here ({reason})", -1, pattern) from None


def full_match(pattern: JavaPattern, text: str) -> bool:
    """``Matcher.matches``: does the pattern describe the whole text?"""
    return pattern.fullmatch(text) is not None


class _Translation(RegexScanner):
    """One pass over a Java pattern. ``flags`` are those in force at the current place.

    ``choices``: how many places of the pattern have more than one way to match, which is what backtracking tries.
    """

    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self.out: list[str] = []
        self.groups = 0
        self.names: set[str] = set()
        self.choices = 0
        self._repetitions = 1
        self._depth = 0

    def translated(self) -> str:
        self._alternatives()
        if self.i < len(self.pattern):
            raise self._error("Unmatched closing ')'", self.i - 1)
        return "".join(self.out)

    def _alternatives(self) -> None:
        """Everything up to the end of the pattern or the ``)`` of the group it stands in."""
        outer = self.flags
        open_flags = False
        while (char := self._peek()) and char != ")":
            if char == "|":
                self.i += 1
                self.choices += self._depth > 0
                self.out.append(")|" if open_flags else "|")
                open_flags = self._open_flags(outer)
            elif (found := self._inline_flags()) is not None:
                if open_flags:
                    self.out.append(")")
                self.flags = found
                open_flags = self._open_flags(outer)
            else:
                self._piece()
        if open_flags:
            self.out.append(")")
        self.flags = outer

    def _open_flags(self, outer: frozenset[str]) -> bool:
        """Python scopes flags by groups: open one where case counts otherwise than in the group around."""
        if ("i" in self.flags) == ("i" in outer) and ("u" in self.flags) == ("u" in outer):
            return False
        self.out.append(self._flag_group(self.flags))
        return True

    @staticmethod
    def _flag_group(flags: frozenset[str]) -> str:
        if "i" not in flags:
            return "(?-i:"
        return "(?iu:" if "u" in flags else "(?i:"

    def _inline_flags(self) -> frozenset[str] | None:
        """The flags in force after ``(?i)`` and the like, which is consumed; None if there is something else here."""
        match = re.compile(r"\(\?([A-Za-z]*)(?:-([A-Za-z]*))?\)").match(self.pattern, self.i)
        if match is None:
            return None
        self.i = match.end()
        return self._changed_flags(match[1], match[2] or "", match.start(1))

    def _changed_flags(self, on: str, off: str, index: int) -> frozenset[str]:
        for flag in on + off:
            if flag not in _FLAGS:
                raise self._error("Unknown inline modifier", index)
            if flag == "U":
                raise self._error("The flag U is not supported here", index)
        return (self.flags | set(on)) - set(off)

    def _piece(self) -> None:
        """One atom and its quantifier."""
        char = self._peek()
        if "x" in self.flags and (char in " \t\n\x0b\f\r" or char == "#"):
            self._comment()
            return
        if char in "*+?":
            raise self._error(f"Dangling meta character '{char}'")
        if char == "{":
            raise self._error("Illegal repetition", self.i + 1)
        self.i += 1
        choices, repetitions, self._repetitions = self.choices, self._repetitions, 1
        match char:
            case "(":
                self._group()
            case "[":
                self.out.append(self._class())
            case "\\":
                if self._escape():
                    return
            case ".":
                self.out.append(self._dot())
            case "^":
                self.out.append(_MULTILINE_START if "m" in self.flags else r"\A")
            case "$":
                self.out.append(_MULTILINE_END if "m" in self.flags else _END)
            case _:
                self.out.append(re.escape(char))
        self._quantifier(self.choices > choices)
        self._repetitions = max(self._repetitions, repetitions)

    def _comment(self) -> None:
        if self._take() == "#":
            while self._peek() and self._peek() not in "\n\r\x85\u2028\u2029":
                self.i += 1

    def _dot(self) -> str:
        if "s" in self.flags:
            return r"[\s\S]"
        return r"[^\n]" if "d" in self.flags else f"[^{_LINE_ENDS}]"

    def _quantifier(self, of_choices: bool) -> None:
        """``of_choices``: what is repeated has choices itself."""
        if "x" in self.flags:
            while self._peek() and (self._peek() in " \t\n\x0b\f\r" or self._peek() == "#"):
                self._comment()
        char = self._peek()
        if not char or char not in "*+?{":
            return
        if char == "{":
            match = re.compile(r"\{(\d+)(,(\d*))?").match(self.pattern, self.i)
            if match is None:
                raise self._error("Illegal repetition", self.i + 1)
            if self.pattern[match.end() : match.end() + 1] != "}":
                raise self._error("Unclosed counted closure", match.end())
            if match[3] and int(match[3]) < int(match[1]):
                raise self._error("Illegal repetition range", match.end())
            self.i = match.end() + 1
            self.out.append(match[0] + "}")
            self._repetitions *= max(int(match[1][:9]), 1)
            if self._repetitions > _MOST_REPETITIONS:
                raise self._error(f"Not supported here (more than {_MOST_REPETITIONS} repetitions)", match.start())
            self.choices += match[2] is not None
        else:
            self.i += 1
            self.out.append(char)
            self.choices += 1
        if of_choices and char != "?":
            self.choices += _FEW_CHOICES
        if self._peek() and self._peek() in "?+":
            self.out.append(self._take())
        if self._peek() and self._peek() in "*+?":
            raise self._error(f"Dangling meta character '{self._peek()}'")

    def _group(self) -> None:
        """Translate the construct that begins with ``(``."""
        opening = self._opening()
        self.out.append(opening)
        outer, self.flags = self.flags, self._group_flags
        self._depth += 1
        self._alternatives()
        self._depth -= 1
        self.flags = outer
        if self._take() != ")":
            raise self._error("Unclosed group", len(self.pattern))
        self.out.append(")")

    def _opening(self) -> str:
        self._group_flags = self.flags
        if self._peek() != "?":
            self.groups += 1
            return "("
        for simple in ("?:", "?=", "?!", "?>", "?<=", "?<!"):
            if self.pattern.startswith(simple, self.i):
                self.i += len(simple)
                return "(" + simple
        if self._peek(1) == "<":
            self.i += 2
            name = self._group_name()
            if name in self.names:
                raise self._error(f"Named capturing group <{name}> is already defined", self.i - 1)
            self.names.add(name)
            self.groups += 1
            return f"(?P<{name}>"
        match = re.compile(r"\?([A-Za-z]*)(?:-([A-Za-z]*))?:").match(self.pattern, self.i)
        if match is None:
            unknown = "inline modifier" if self._peek(1).isalpha() or not self._peek(1) else "group type"
            raise self._error(f"Unknown {unknown}", self.i + 1)
        self._group_flags = self._changed_flags(match[1], match[2] or "", match.start(1))
        self.i = match.end()
        same = ("i" in self._group_flags) == ("i" in self.flags) and ("u" in self._group_flags) == ("u" in self.flags)
        return "(?:" if same else self._flag_group(self._group_flags)

    def _group_name(self) -> str:
        match = re.compile(r"([A-Za-z][A-Za-z0-9]*)(>?)").match(self.pattern, self.i)
        if match is None:
            raise self._error("capturing group name does not start with a Latin letter")
        if not match[2]:
            raise self._error("named capturing group is missing trailing '>'", match.end())
        self.i = match.end()
        return match[1]

    def _escape(self) -> bool:
        """Translate an escape; True if no quantifier can refer to it (a quotation without characters)."""
        char = self._peek()
        if not char:
            raise self._error("Unexpected internal error")
        if char == "Q":
            return self._quotation()
        if (found := self._escaped_class()) is not None:
            self.out.append(show_class(found))
            return False
        self.i += 1
        match char:
            case "A":
                self.out.append(r"\A")
            case "z":
                self.out.append(r"\Z")
            case "Z":
                self.out.append(_END)
            case "b" | "B":
                self.out.append("\\" + char)
            case "R":
                self.choices += 1  # of the two characters of a line end, one or both
                self.out.append(r"(?:\r\n|[\n\x0b\f\r\x85\u2028\u2029])")
            case "G" | "X" | "N":
                raise self._error(f"\\{char} is not supported here", self.i - 1)
            case "E":
                return True
            case "k":
                self._named_reference()
            case _ if char in "123456789":
                self._reference(int(char))
            case _:
                self.i -= 1
                self.out.append(re.escape(self._escaped_character()))
        return False

    def _quotation(self) -> bool:
        end = self.pattern.find("\\E", self.i)
        text = self.pattern[self.i + 1 : end if end >= 0 else len(self.pattern)]
        self.i = end + 2 if end >= 0 else len(self.pattern)
        self.out.append(re.escape(text[:-1]))
        if text:
            self.out.append(re.escape(text[-1]))
        return not text

    def _named_reference(self) -> None:
        if self._take() != "<":
            raise self._error(r"\k is not followed by '<' for named capturing group")
        name = self._group_name()
        if name not in self.names:
            raise self._error(f"named capturing group <{name}> does not exist", self.i - 1)
        self.choices += 1
        self.out.append(f"(?P={name})")

    def _reference(self, group: int) -> None:
        while self._peek() and self._peek() in "0123456789" and group * 10 + int(self._peek()) <= self.groups:
            group = group * 10 + int(self._take())
        if group > self.groups:
            self.out.append("(?!)")
        else:
            self.choices += 1
            self.out.append(f"(?:\\{group})")

    def _class(self) -> str:
        return show_class(self._class_set())
