"""UTF-8 as far as Jackson checks it: needless bytes are taken, as Java's own modified UTF-8 has them, but no halves of
surrogate pairs.
"""

from __future__ import annotations

_LEADS = ((1, 0xE0, 0xC0), (2, 0xF0, 0xE0), (3, 0xF8, 0xF0))
"""Number of bytes that follow a byte whose bits under a mask are these."""


class Utf8Error(ValueError):
    """A byte that is out of place, or the end of the text (no problem) instead of one; ``end`` is the place behind."""

    def __init__(self, problem: str | None, end: int) -> None:
        super().__init__(problem, end)
        self.problem, self.end = problem, end


def decode(data: str, start: int, end: int) -> str:
    """The text that bytes, given as Latin-1, stand for; its last character may go beyond the end. The surrogates that
    bytes beyond Unicode make are apart.

    Raises Utf8Error.
    """
    plain = data[start:end]
    if plain.isascii():
        return plain
    try:
        return plain.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return _decode_leniently(data, start, end)


def _decode_leniently(data: str, start: int, end: int) -> str:
    chars, i = [], start
    while i < end:
        lead = ord(data[i])
        i += 1
        following = 0 if lead < 0x80 else next((n for n, mask, bits in _LEADS if lead & mask == bits), -1)
        if following < 0:
            raise Utf8Error(f"Invalid UTF-8 start byte 0x{lead:x}", i)
        code = lead & (0x3F >> following) if following else lead
        for _ in range(following):
            if i == len(data):
                raise Utf8Error(None, i)
            byte = ord(data[i])
            i += 1
            if byte & 0xC0 != 0x80:
                raise Utf8Error(f"Invalid UTF-8 middle byte 0x{byte:x}", i)
            code = code << 6 | byte & 0x3F
        if 0xD800 <= code <= 0xDFFF and following == 2:
            raise Utf8Error(f"Invalid UTF-8: Illegal surrogate character 0x{code:x}", i)
        if following < 3:
            chars.append(chr(code))
        else:
            code -= 0x10000
            chars += [chr((0xD800 | code >> 10) & 0xFFFF), chr(0xDC00 | code & 0x3FF)]
    return "".join(chars)


def joined(text: str) -> str:
    """Pairs of surrogates made one character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text
