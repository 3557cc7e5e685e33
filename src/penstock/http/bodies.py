"""Request bodies: JSON of the expected form. Any other body is refused with 400 and a sentence (Java: mostly 500)."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from starlette.requests import Request

from penstock.core.model.messages import Refused
from penstock.http.media_types import says_json, unsupported

Pairs = tuple[tuple[dict[str, Any] | None, dict[str, Any] | None], ...]

_Read = TypeVar("_Read")
SMALL = 64 * 2**10
"""Bodies up to this size are parsed by the thread that serves all requests."""
MAX_DEPTH, MAX_NUMBER_LENGTH = 100, 1000
MAX_SETTINGS = 10_000
"""Maximum number of settings of one configuration, since the validation looks at each."""
_PARSER = ThreadPoolExecutor(1, "parser")  # one, so that large bodies wait for each other and nothing else for them
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class Number(str):
    """A number as it was written: values of configurations are texts, and ``1.50`` stays ``1.50``."""

    def value(self) -> int | float:
        return int(self) if self.lstrip("-").isdigit() else float(self)


async def document(request: Request, *, required: bool = True) -> Any:
    """Return the body as JSON, numbers as ``Number``; None for no body, if it is not required. Raises Refused."""
    body = await request.body()
    if not body and required:
        raise Refused(400, "The request has no body; it must be a JSON document")
    if not body:
        return None
    if not says_json(request.headers.get("content-type")):
        raise unsupported()
    return await parsed(body)


async def parsed(body: bytes, *, halves: bool = False) -> Any:
    """Call ``parse``, for a large body on a thread of its own. Raises Refused (400)."""
    return await _apart(body, partial(parse, halves=halves), body)


async def read(request: Request, make: Callable[[Any], _Read]) -> _Read:
    """Return the result of ``make`` for the body as JSON; for a large body ``make`` runs on the parser's thread too.

    Raises Refused.
    """
    given = await document(request)
    return await _apart(await request.body(), make, given)


async def _apart(body: bytes, make: Callable[[Any], _Read], given: Any) -> _Read:
    if len(body) <= SMALL:
        return make(given)
    return await asyncio.get_running_loop().run_in_executor(_PARSER, make, given)


def parse(body: bytes, what: str = "The request's body", *, halves: bool = False) -> Any:
    """Parse JSON with numbers as ``Number``. Raises Refused (400), with a sentence about ``what``. ``halves``: texts
    may have halves of surrogate pairs, which JSON can express and UTF-8 can't.
    """
    try:
        text = body.decode(json.detect_encoding(body))  # strictly, as ``json.loads`` does not
        value = json.loads(text, parse_int=_number, parse_float=_number, parse_constant=_no_constant)
        if not halves and _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise Refused(400, f"{what} is nested too deeply") from None
    except ValueError as error:
        raise Refused(400, f"{what} is not valid JSON: {error}") from None
    if is_deeper(value, MAX_DEPTH):
        raise Refused(400, f"{what} is nested too deeply; {MAX_DEPTH} levels are accepted")
    return value


def _number(text: str) -> Number:
    if len(text) > MAX_NUMBER_LENGTH:
        raise ValueError(f"a number has {len(text)} characters; {MAX_NUMBER_LENGTH} are accepted")
    return Number(text)


def is_deeper(value: Any, levels: int) -> bool:
    """Return whether a value of JSON is nested more deeply than this."""
    level: list[Any] = [value]
    for _ in range(levels + 1):
        level = [each for container in level for each in _inner(container) if isinstance(each, list | dict)]
        if not level:
            return False
    return True


def _inner(container: Any) -> Iterable[Any]:
    match container:
        case dict():
            return container.values()
        case list():
            return container
    return ()


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")


def members(value: Any, what: str, *allowed: str) -> dict[str, Any]:
    """Return a JSON object that has no other members than these (all may be missing)."""
    if not isinstance(value, dict):
        raise Refused(400, f"{what} must be a JSON object with the members {', '.join(allowed)}, not {_kind(value)}")
    for member in value:
        if member not in allowed:
            raise Refused(400, f"{what} has an unknown member '{member}'; it may have {', '.join(allowed)}")
    return value


def config(value: Any, what: str) -> dict[str, str | None]:
    """Return a configuration: texts, numbers and booleans become texts, null stays None."""
    if not isinstance(value, dict):
        raise Refused(400, f"{what} must be a JSON object of settings, not {_kind(value)}")
    if len(value) > MAX_SETTINGS:
        raise Refused(400, f"{what} has {len(value)} settings; {MAX_SETTINGS} are accepted")
    return {key: setting if type(setting) is str else text(setting, f"'{key}'") for key, setting in value.items()}


def text(value: Any, what: str) -> str | None:
    """Return a text; numbers and booleans become texts, null stays None."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case str():
            return str(value)
        case _:
            raise Refused(400, f"{what} must be a text, not {_kind(value)}")


def offset_pairs(value: Any) -> Pairs | None:
    """Return the list of ``{"partition":…, "offset":…}`` of KIP-875; None if it is missing, null or empty."""
    if value is None or value == []:
        return None
    if not isinstance(value, list):
        raise Refused(
            400, f"'offsets' must be a list of objects with the members partition and offset, not {_kind(value)}"
        )
    pairs = []
    for entry in value:
        both = members(entry, "An entry of 'offsets'", "partition", "offset")
        pairs.append((_part(both, "partition"), _part(both, "offset")))
    return tuple(pairs)


def _part(entry: dict[str, Any], member: str) -> dict[str, Any] | None:
    part = entry.get(member)
    if part is not None and not isinstance(part, dict):
        raise Refused(400, f"'{member}' of an entry of 'offsets' must be a JSON object or null, not {_kind(part)}")
    return None if part is None else {key: _with_numbers(each) for key, each in part.items()}


def _with_numbers(value: Any) -> Any:
    match value:
        case Number():
            return value.value()
        case list():
            return [_with_numbers(each) for each in value]
        case dict():
            return {key: _with_numbers(each) for key, each in value.items()}
        case _:
            return value


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case Number():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "an object"
