"""``wire.messages`` with the standard library alone, for the interpreters of plugins, which may have no ``msgspec``.

Classes and codec have the same names and effects: the same JSON, and the same strictness about unknown messages,
unknown members and types. ``hosts.python.boot`` puts this module in the place of ``wire.messages``.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import types
import typing
from typing import Any, ClassVar, Generic, Literal, TypeVar, dataclass_transform

M = TypeVar("M", bound="Message")


class MessageError(ConnectionError):
    """The other side has sent what is no message of the protocol; the text names the message and what is wrong."""


@dataclass_transform(frozen_default=True)
class Message:
    """Base of all messages between processes, as frozen dataclasses."""

    wire_tag: ClassVar[str]

    def __init_subclass__(cls, tag: str | bool = True, frozen: bool = True, kw_only: bool = False) -> None:
        """``tag``: the message's name on the wire, or True for the name of its class."""
        cls.wire_tag = tag if isinstance(tag, str) else cls.__name__
        dataclasses.dataclass(frozen=frozen, kw_only=kw_only)(cls)


class MessageCodec(Generic[M]):
    """Encodes and decodes the messages of one union. Any thread may call it."""

    def __init__(self, protocol: str, union: Any) -> None:
        """``protocol`` names it in errors; ``union`` is ``First | Second``, or a single class."""
        self._protocol, self._union = protocol, union

    def encode(self, message: M) -> bytes:
        """Return the JSON of a message. Raises TypeError for a value that is none of JSON's."""
        try:
            return json.dumps(_shown(message), separators=(",", ":"), allow_nan=False).encode()
        except ValueError as error:  # NaN and infinities, which the other side would refuse
            raise TypeError(str(error)) from None

    def decode(self, body: bytes | bytearray) -> M:
        """Return the message with this JSON. Raises MessageError."""
        try:
            found = json.loads(bytes(body))
        except (ValueError, RecursionError) as error:
            raise MessageError(f"not a message of {self._protocol}: {error}") from None
        name = found.get("type") if isinstance(found, dict) else None
        try:
            message: M = _read(found, self._union)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise MessageError(f"invalid message {name} of {self._protocol}: {error}") from None
        return message


def _shown(value: Any) -> Any:
    if isinstance(value, list):
        return [_shown(each) for each in value]
    if not isinstance(value, Message):
        return value
    shown = {"type": value.wire_tag}
    for field in dataclasses.fields(value):  # type: ignore[arg-type]
        if (member := getattr(value, field.name)) != field.default:
            shown[field.name] = _shown(member)
    return shown


def _read(value: Any, wanted: Any) -> Any:
    """Return a value of JSON as one of this type. Raises TypeError, ValueError."""
    options = _options(wanted)
    messages = {each.wire_tag: each for each in options if isinstance(each, type) and issubclass(each, Message)}
    if messages and isinstance(value, dict):
        if value.get("type") not in messages:
            raise ValueError(f"there is no message {value.get('type')!r}")
        return _message(value, messages[value["type"]])
    for each in options:
        try:
            return _plain(value, each)
        except TypeError:
            pass
    raise TypeError(f"{value!r} is not of type {wanted}")


def _message(value: dict[str, Any], wanted: type[Message]) -> Message:
    fields: dict[str, Any] = _fields(wanted)  # type: ignore[arg-type]
    members = {name: member for name, member in value.items() if name != "type"}
    if unknown := members.keys() - fields.keys():
        raise ValueError(f"there is no field `{min(unknown)}`")
    return wanted(**{name: _read(member, fields[name]) for name, member in members.items()})


def _plain(value: Any, wanted: Any) -> Any:
    origin, args = typing.get_origin(wanted), typing.get_args(wanted)
    if wanted is Any:
        return value
    if origin is Literal:
        if value in args:
            return value
    elif origin is list and isinstance(value, list):
        return [_read(each, args[0]) for each in value]
    elif origin is dict and isinstance(value, dict):
        return {name: _read(each, args[1]) for name, each in value.items()}
    elif wanted is float and type(value) in (int, float):
        return float(value)
    elif origin is None and type(value) is (type(None) if wanted is None else wanted):
        return value
    raise TypeError


def _options(wanted: Any) -> tuple[Any, ...]:
    is_union = typing.get_origin(wanted) in (typing.Union, types.UnionType)
    return typing.get_args(wanted) if is_union else (wanted,)


@functools.cache
def _fields(message: type[Message]) -> dict[str, Any]:
    hints = typing.get_type_hints(message)
    return {field.name: hints[field.name] for field in dataclasses.fields(message)}  # type: ignore[arg-type]
