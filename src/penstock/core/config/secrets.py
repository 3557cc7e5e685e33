"""Secret settings, and how they are masked in what people read.

Secrets are settings of type PASSWORD, those whose names look like it, and references to config providers in a value
(the reference is no secret itself, but says where one is). Values that are JSON objects have settings, too; URLs have
passwords: of users (``://me:password@host``), Oracle's (``oracle:thin:me/password@``), and parameters.

Texts come from clients, and no other thread runs while a regular expression is applied to a text. So each is applied to
at most ``MAX_LENGTH`` characters, for a time in proportion to them; a text that is too long to be searched is masked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, TypeVar

from penstock.core.config.runtime_settings import secret_settings
from penstock.core.config.secret_texts import hidden, looking_secret

MASK = "[hidden]"
"""Text that Java prints for a value of type PASSWORD."""
LOOKS_SECRET = (
    r"(?i)password|passwd|passphrase|secret|(?<!max)(?<!max[._-])token(?!\.endpoint|izer|\.url)|credential|jaas|access[._-]?key|api[._-]?key"
    r"|account[._-]?key|private[._-]?key|keystore\.key$|auth\.user\.info|basic\.auth\.user|connection\.string|sas[._-]"
    r"|pwd$|(?:^|[._-])(?:pass|sig)$|(?-i:[a-z]Pass$)|cookie$|(?:^|headers?\.)(?:proxy-)?authorization$"
    r"|^singer\.config$|^dlt\.(config|arguments)$|^query\.masked$"
)
"""Names of settings that look like secrets, as a regular expression that Python and Java read alike."""
_LOOKS_SECRET = re.compile(LOOKS_SECRET)
MAX_LENGTH, OVERLAP = 2**16, 2**10
MAX_TEXT = 2**20
"""Characters of one configuration that are searched, names and values."""
_USER = re.compile(r"://[^/:;?\[\s]*:(?!\d+(?:[/?;,]|$))")
"""Matches up to a password, but not host:port."""
_END = re.compile(r"[/?\s]")
_SPACE = re.compile(r"\s")
_MAX_PASSWORD = 200
_MAX_REMEMBERED = 128
_NAME = re.compile(r"[A-Za-z_.-]{1,15}")
"""A text that is more likely the name of a user than a token."""
_OTHERS = tuple(
    map(
        re.compile,
        (
            r"(?i)(?P<kept>\boracle:\w+:)[^/@\s]{1,200}/(?P<secret>\S{1,200}?)(?=@(?://|\(|[^@\s]*(?:\s|$)))",
            # Parameters: ``jdbc:postgresql://host/db?user=me&password=…``
            r"(?i)(?P<kept>(?:[?&;:,(/]|\B-D)[\w.-]*(?:password|passwd|passphrase|pwd|secret|token"
            r"|(?:api|access|account|secret|private)[._-]?key|(?<![A-Za-z])(?:pass|sig)|x-amz-signature)=)(?P<secret>\{[^}]{0,200}\}|[^&;\s]+)",
        ),
    )
)
_Value = TypeVar("_Value", str, str | None)


def is_secret(name: str, passwords: Collection[str] = ()) -> bool:
    """Whether a setting of this name is a secret; ``passwords`` are the settings that plugins define as PASSWORD."""
    if name in passwords or len(name) > MAX_LENGTH or _LOOKS_SECRET.search(name) is not None:
        return True
    return name in secret_settings()


def masked(config: Mapping[str, _Value], passwords: Collection[str] = ()) -> dict[str, _Value]:
    """Return a configuration with its secrets masked.

    Values of more than ``MAX_LENGTH`` characters are masked whole; all are, if the others together have too many.
    """
    if not within(config, MAX_TEXT):
        return {name: value if not value else MASK for name, value in config.items()}
    return {name: _masked(name, value, passwords) for name, value in config.items()}


def within(config: Mapping[str, str | None], most: int) -> bool:
    """Whether the names and values that are not too long by themselves have at most ``most`` characters."""
    texts = (text for setting in config.items() for text in setting if text is not None)
    return sum(len(text) for text in texts if len(text) <= MAX_LENGTH) <= most


def _masked(name: str, value: _Value, passwords: Collection[str]) -> _Value:
    if not value:
        return value
    if len(value) > MAX_LENGTH:
        return MASK
    if "${" in value or is_secret(name, passwords) or any(is_secret(inner) for inner, _ in inside(value)):
        return MASK
    return without_secrets(value)


def inside(value: str) -> Iterator[tuple[str, str]]:
    """Yield the names and texts in a value that is a JSON object or list, nested ones included; nothing for others.

    A member ``value`` has the ``name`` or ``key`` beside it as its name, too.
    """
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        name, each = waiting.pop()
        match each:
            case dict():
                waiting += each.items()
                if "value" in each:
                    waiting += [(str(each[beside]), each["value"]) for beside in ("name", "key") if beside in each]
            case list():
                waiting += [(name, one) for one in each]
            case str():
                if each is not value:
                    yield name, each
                if each.lstrip().startswith(("{", "[")):
                    with suppress(ValueError, RecursionError):
                        waiting.append((name, json.loads(each)))


def without_passwords(text: str, mask: str = MASK) -> str:
    """Mask passwords of users, parameters that are secrets, and a text that is too long."""
    if len(text) > MAX_LENGTH:
        return mask
    text = _replaced(text, mask)
    for each in _OTHERS:
        text = each.sub(lambda found: found["kept"] + mask, text)
    return text


def without_secrets(text: str, mask: str = MASK) -> str:
    """Mask what ``without_passwords`` masks, and all that looks like a secret. Any length: a longer text is searched in
    pieces that end at blanks, if there are any.
    """
    if len(text) <= _MAX_REMEMBERED:
        return _without_secrets(text, mask)
    if len(text) <= MAX_LENGTH:
        return hidden(without_passwords(text, mask), mask)
    parts, at = [], 0
    while at < len(text):
        end = at + MAX_LENGTH
        if end < len(text):
            end = max((text.rfind(blank, at + MAX_LENGTH // 2, end) + 1 for blank in " \n"), default=0) or end
        parts.append(hidden(without_passwords(text[at:end], mask), mask))
        at = end
    return "".join(parts)


@lru_cache(maxsize=4096)
def _without_secrets(text: str, mask: str) -> str:
    """``without_secrets`` of a short text: those of metrics come again every few seconds."""
    return hidden(without_passwords(text, mask), mask)


def passwords_of(text: str) -> set[str]:
    """Return the passwords in a text of any length. A longer text is searched in pieces that overlap."""
    pieces = (text[at : at + MAX_LENGTH] for at in range(0, max(len(text) - OVERLAP, 1), MAX_LENGTH - OVERLAP))
    return {secret for piece in pieces for secret in _passwords(piece)}


def _passwords(text: str) -> Iterator[str]:
    for _, start, end in _of_users(text):
        yield text[start:end]
    for each in _OTHERS:
        yield from (found["secret"] for found in each.finditer(text))
    yield from (secret for secret in looking_secret(text) if not _NAME.fullmatch(secret))


def _replaced(text: str, mask: str) -> str:
    parts, last = [], 0
    for begin, start, end in _of_users(text):
        if text[start:end] == mask:
            continue
        parts += [text[last : begin + len("://")], mask]
        last = end
    return "".join([*parts, text[last:]])


def _of_users(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield the position of ``://`` and the start and end of the password, which may be empty."""
    at, last = 0, text.rfind("@")
    while found := _USER.search(text, at, last + 1):
        end = _end_of_password(text, found.end())
        at = found.end() - 1 if end is None else end  # its colon may begin the next ``://``
        if end is not None:
            yield found.start(), found.end(), end


def _end_of_password(text: str, start: int) -> int | None:
    """Return the position of its ``@``. The password may have ``@``, or ``/`` that should have been ``%2F``."""
    stop = _END.search(text, start)
    at = text.rfind("@", start, len(text) if stop is None else stop.start())
    if at < 0:
        at = text.find("@", start + 1, start + _MAX_PASSWORD + 1)
        if at < 0 or _SPACE.search(text, start, at):
            return None
    return at


def restored(config: Mapping[str, _Value], known: Mapping[str, str]) -> dict[str, _Value]:
    """Return a configuration with the old values in place of masks that a client was shown and has sent back."""
    before: dict[str, str] = masked(known) if any(value and MASK in value for value in config.values()) else {}
    return {
        name: known[name]
        if value is not None and MASK in value and name in known and value in (MASK, before[name])
        else value
        for name, value in config.items()
    }
