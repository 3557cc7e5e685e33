"""Replacement texts of Java's regular expressions: ``$1``, ``${name}``, ``\\`` before a character that means itself.

As in Java, a wrong text is noticed when it comes to be used, that is, where the pattern matches.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from penstock.java.errors import JavaError, NoSuchGroupError, ReplacementError
from penstock.java.regex.pattern import JavaPattern


def replace_first(pattern: JavaPattern, replacement: str, text: str) -> str:
    """``Matcher.replaceFirst``; raises ReplacementError or NoSuchGroupError where there is a match and the replacement
    is wrong.
    """
    return pattern.sub(replacer(pattern, replacement), text, count=1)


def replace_all(pattern: JavaPattern, replacement: str, text: str) -> str:
    """``Matcher.replaceAll``; raises as ``replace_first``."""
    replace = replacer(pattern, replacement)
    parts: list[str] = []
    start = end = 0
    # Unlike re.sub, Java continues one character after an empty match.
    while start <= len(text) and (found := pattern.search(text, start)) is not None:
        parts += (text[end : found.start()], replace(found))
        end = found.end()
        start = end + (found.start() == end)
    return "".join(parts) + text[end:]


@lru_cache(256)
def replacer(pattern: JavaPattern, replacement: str) -> Callable[[Any], str]:
    """Return a function for ``re.sub`` that makes a replacement in Java's syntax.

    That is ``$1``, ``${name}``, and ``\\`` before a character that means itself.
    """
    parts: list[str | int] = []
    failure: JavaError | None = None
    try:
        _parse_replacement(pattern, replacement, parts)
    except JavaError as error:
        failure = error

    def replace(match: Any) -> str:
        if failure is not None:
            raise failure
        return "".join([part if isinstance(part, str) else match[part] or "" for part in parts])

    return replace


def _parse_replacement(pattern: JavaPattern, replacement: str, parts: list[str | int]) -> None:
    i, end = 0, len(replacement)
    while i < end:
        char = replacement[i]
        i += 1
        if char == "\\":
            if i == end:
                raise ReplacementError("character to be escaped is missing")
            parts.append(replacement[i])
            i += 1
        elif char != "$":
            parts.append(char)
        elif i == end:
            raise ReplacementError("Illegal group reference: group index is missing")
        elif replacement[i] == "{":
            name = re.compile("[A-Za-z0-9]*").match(replacement, i + 1)
            assert name is not None
            i = name.end() + 1
            _check_group_name(replacement, name)
            if name[0] not in pattern.groupindex:
                raise ReplacementError(f"No group with name {{{name[0]}}}")
            parts.append(pattern.groupindex[name[0]])
        elif replacement[i] not in "0123456789":
            raise ReplacementError("Illegal group reference")
        else:
            group = int(replacement[i])
            i += 1
            if group > pattern.groups:
                raise NoSuchGroupError(f"No group {group}")
            while i < end and replacement[i] in "0123456789" and group * 10 + int(replacement[i]) <= pattern.groups:
                group = group * 10 + int(replacement[i])
                i += 1
            parts.append(group)


def _check_group_name(replacement: str, name: re.Match[str]) -> None:
    if not name[0]:
        raise ReplacementError("named capturing group has 0 length name")
    if name[0][0].isdigit():
        raise ReplacementError(f"capturing group name {{{name[0]}}} starts with digit character")
    if name.end() == len(replacement) or replacement[name.end()] != "}":
        raise ReplacementError("named capturing group is missing trailing '}'")
