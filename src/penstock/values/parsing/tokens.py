"""The tokens of a text that ``parser`` reads, as Java's ``Values.Parser`` takes them."""

from __future__ import annotations

import re

DELIMITERS = frozenset(':,{}[]"')
_TOKEN = re.compile(r'(?:[^:,{}\[\]"\\]+|\\.)+\\?|.', re.DOTALL)
"""A delimiter, or all that comes before the next one that no backslash escapes."""
BLANK = "".join(map(chr, range(33)))
"""Characters that ``String.trim`` removes."""
NO_SCALAR = frozenset((*DELIMITERS, *BLANK, *"ntf"))
"""First characters that no number has, nor ``null``, ``true`` or ``false``: the token can only be text."""


class ValueTokens:
    """The text as tokens: delimiters, unless escaped by a backslash, and what is between them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.i = 0
        self.next_token: str | None = None
        self.previous: str | None = None

    def mark(self) -> int:
        return self.i - len(self.next_token or "")

    def rewind(self, position: int) -> None:
        self.i = position
        self.next_token = self.previous = None

    def has_next(self) -> bool:
        return self.next_token is not None or self.i < len(self.text)

    def has_scalar(self) -> bool:
        """Whether the next token is one, quickly: False if that is not sure."""
        return self.next_token is None and self.text[self.i] not in NO_SCALAR

    def next(self) -> str:
        if self.next_token is not None:
            self.previous, self.next_token = self.next_token, None
        else:
            self.previous = self._consume()
        return self.previous

    def next_several(self, count: int) -> str | None:
        """The text of so many tokens; None, and none of them taken, if there are fewer."""
        start = self.mark()
        for _ in range(count):
            if not self.has_next():
                self.rewind(start)
                return None
            self.next()
        return self.text[start : self.i]

    def take(self, expected: str) -> bool:
        """Take the next token if it is this one but for blanks around it; blank tokens before it are dropped."""
        if self.next_token is None:
            if not self.has_next():
                return False
            self.next_token = self._consume()
        while not self.next_token.strip(BLANK) and self.i < len(self.text):
            self.next_token = self._consume()
        if self.next_token.strip(BLANK) != expected:
            return False
        self.next_token = None
        return True

    def _consume(self) -> str:
        start = self.i
        if self.text[start : start + 1] in DELIMITERS:
            self.i += 1
        elif (found := _TOKEN.match(self.text, start)) is not None:
            self.i = found.end()
        return self.text[start : self.i]
