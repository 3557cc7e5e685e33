"""Passwords in URLs are also found in long texts, and expressions are applied to one piece of the text at a time."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest

from penstock.core.config import secrets
from penstock.core.config.secrets import MAX_LENGTH, passwords_of, without_passwords

AS_ONE_EXPRESSION = re.compile(r"(?P<kept>://)[^/:;?\[\s]*:(?!\d+(?:[/?;,]|$))(?P<secret>[^/?\s]*|[^@\s]{1,200})(?=@)")
"""The pattern of a password in a URL. It tries 200 characters at each ``://``."""


class Recorded:
    """An expression that records the texts to which it is applied."""

    def __init__(self, expression: re.Pattern[str], texts: list[str]) -> None:
        self._expression, self._texts = expression, texts

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        self._texts.append(text)
        return self._expression.finditer(text)

    def search(self, text: str, *within: int) -> re.Match[str] | None:
        self._texts.append(text)
        return self._expression.search(text, *within)


def test_passwords_of_users_equal_those_of_one_regular_expression() -> None:
    chosen, parts = random.Random(1), ["://", ":", "/", "@", " ", "\n", "?", "a", "1", ";", "[", "x" * 99, "y" * 60]
    for _ in range(20_000):
        text = "".join(chosen.choices(parts, k=chosen.randint(1, 14)))
        assert without_passwords(text, "#") == AS_ONE_EXPRESSION.sub(r"\g<kept>#", text)


def test_a_text_that_is_too_long_is_masked_whole() -> None:
    assert without_passwords("a" * MAX_LENGTH, "#") == "a" * MAX_LENGTH
    assert without_passwords("a" * (MAX_LENGTH + 1), "#") == "#"


def test_a_long_text_is_searched_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    monkeypatch.setattr(secrets, "_OTHERS", tuple(Recorded(each, texts) for each in secrets._OTHERS))
    text = "".join(f"{'x' * (MAX_LENGTH - 20)} x://me:secret{number}@h?pwd=word{number}&" for number in range(20))
    assert passwords_of(text) == {f"{word}{number}" for word in ("secret", "word") for number in range(20)}
    assert max(map(len, texts)) <= MAX_LENGTH
    assert sum(map(len, texts)) < 3 * len(text)


def test_no_user_is_searched_in_a_text_without_an_at_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    monkeypatch.setattr(secrets, "_USER", Recorded(secrets._USER, texts))
    assert passwords_of("://" * 100_000) == set()
    assert len(texts) <= len("://" * 100_000) / MAX_LENGTH * 1.1 + 1  # one look at each piece, up to the last ``@``
