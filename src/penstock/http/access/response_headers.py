"""``response.http.headers.config``: headers that are added to every answer (KIP-577; Java: Jetty's HeaderFilter).

Rules are separated by commas; one that has a comma itself is put in double quotes: ``set X-Frame-Options:DENY,
"add Cache-Control: no-cache, no-store", setDate Expires: 31540000000``. The value of a date is milliseconds from now.
A header that the answer already has stays.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.utils import formatdate
from typing import Self

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.http.access.listeners import RestSettingError

ACTIONS = ("set", "add", "setDate", "addDate")
Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class HeaderRule:
    """Rule for a header: ``add`` keeps values of earlier rules, ``set`` replaces them."""

    name: str
    value: str
    replaces: bool
    is_date: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a rule such as ``set X-Frame-Options:DENY``. Raises RestSettingError with Java's sentences."""
        action, _, header = text.strip().partition(" ")
        header = header.strip()
        if not header:
            expected = "Expected: '[action] [header name]:[header value]'"
            raise RestSettingError(f"Invalid format of header config '{text}'. {expected}")
        if action.lower() not in map(str.lower, ACTIONS):
            known = f"[{', '.join(ACTIONS)}]"
            raise RestSettingError(f"Invalid header config action: '{action}'. Expected one of {known}")
        name, *values = header.rstrip(":").split(":")
        if len(values) != 1:
            expected = "Expected: '[header name]:[header value]'"
            raise RestSettingError(f"Invalid format of header name and header value pair '{header}'. {expected}")
        name, value, is_date = name.strip(), values[0].strip(), action.lower().endswith("date")
        if not name or len(name.split()) > 1:
            problem = "The '[header name]' cannot contain whitespace"
            raise RestSettingError(f"Invalid header name '{name}'. {problem}")
        if is_date and not value.lstrip("-").isdigit():
            raise RestSettingError(f"Invalid header config '{text}': a date is given in milliseconds from now")
        return cls(name, value, action.lower().startswith("set"), is_date)

    def rendered(self, now: float) -> tuple[bytes, bytes]:
        value = formatdate(now + int(self.value) / 1000, usegmt=True) if self.is_date else self.value
        return self.name.encode("latin-1"), value.encode("latin-1")


def header_rules(config: Mapping[str, str]) -> tuple[HeaderRule, ...]:
    """Raises RestSettingError."""
    text = config.get("response.http.headers.config", "")
    return tuple(map(HeaderRule.parse, _split(text))) if text.strip() else ()


def _split(text: str) -> list[str]:
    """Split at commas outside of double quotes, without the quotes."""
    rules, quoted = [""], False
    for char in text:
        if char == '"':
            quoted = not quoted
        elif char == "," and not quoted:
            rules.append("")
        else:
            rules[-1] += char
    return [rule.strip() for rule in rules]


class ResponseHeaders:
    """An ASGI application around another."""

    def __init__(self, app: ASGIApp, rules: Iterable[HeaderRule]) -> None:
        self._app, self._rules = app, tuple(rules)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name, value) for name, value in message["headers"]]
                names = {name.lower() for name, _ in own}
                given = [pair for pair in self._headers(time.time()) if pair[0].lower() not in names]
                message = {**message, "headers": given + own}
            await send(message)

        await self._app(scope, receive, send_with_headers)

    def _headers(self, now: float) -> Headers:
        headers: Headers = []
        for rule in self._rules:
            name, value = rule.rendered(now)
            if rule.replaces:
                headers = [pair for pair in headers if pair[0].lower() != name.lower()]
            headers.append((name, value))
        return headers
