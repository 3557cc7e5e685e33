"""Typed messages: a protocol is a closed union of ``Message`` classes, encoded as JSON and validated when decoded.

A message is a JSON object; its member ``type`` names the class. Members that a class does not declare are errors, as
are types that the union does not have. Members with their default values are not sent.
"""

from __future__ import annotations

import json
import types
import typing
from typing import Any, Generic, TypeVar

import msgspec

from penstock.java.jackson import compact

M = TypeVar("M", bound=msgspec.Struct)

_SHOWN_BYTES = 80
"""Maximum number of bytes that an error shows of invalid data."""


class Message(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of all messages between processes. ``type`` is the name of the class, unless it gives another ``tag``."""


class MessagePart(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of what messages have as fields."""


class MessageError(ConnectionError):
    """The other side has sent what is no message of the protocol; the text names the message and what is wrong."""


class MessageCodec(Generic[M]):
    """Encodes and decodes the messages of one union. Any thread may call it."""

    def __init__(self, protocol: str, union: Any, replace_surrogates: bool = False) -> None:
        """``protocol`` names it in errors; ``union`` is ``First | Second``, or a single class.

        ``replace_surrogates``: halves of surrogate pairs in what is decoded become question marks, as in what Java
        encodes itself; else they stay, which only protocols without ``msgspec.Raw`` can do.
        """
        self._protocol, self._union, self._replacing = protocol, union, replace_surrogates
        self._encoder = msgspec.json.Encoder(enc_hook=_of_subclass)
        self._decoder: msgspec.json.Decoder[M] = msgspec.json.Decoder(union)

    @property
    def classes(self) -> tuple[type[msgspec.Struct], ...]:
        """The messages of the protocol, in the order of the union."""
        is_union = isinstance(self._union, types.UnionType)
        return typing.get_args(self._union) if is_union else (self._union,)

    def encode(self, message: M) -> bytes:
        """Return the JSON of a message, in which numbers that JSON lacks are null. Raises TypeError for a value that is
        none of JSON's.
        """
        try:
            return self._encoder.encode(message)
        except (TypeError, UnicodeEncodeError):
            # Halves of surrogate pairs, as in the name of a file that is not UTF-8, and keys such as None.
            found = msgspec.to_builtins(message, enc_hook=_of_subclass)
        try:
            return json.dumps(found, allow_nan=False).encode()
        except ValueError:
            return json.dumps(json.loads(json.dumps(found), parse_constant=lambda _: None)).encode()

    def decode(self, body: bytes | bytearray) -> M:
        """Return the message with this JSON. Raises MessageError."""
        try:
            return self._decoder.decode(body)
        except msgspec.ValidationError as error:
            raise self._refused(body, error) from None
        except (ValueError, RecursionError):
            pass  # no JSON, or halves of surrogate pairs
        try:
            found = compact.decode(bytes(body))
        except ValueError as error:
            raise MessageError(f"not a message of {self._protocol}: {error}") from None
        try:
            if self._replacing:
                whole = json.dumps(found, ensure_ascii=False).encode("utf-8", "replace")
                return self._decoder.decode(whole)
            message: M = msgspec.convert(found, self._union)
        except (ValueError, RecursionError) as error:
            raise self._refused(body, error) from None
        return message

    def _refused(self, body: bytes | bytearray, error: Exception) -> MessageError:
        try:
            found = compact.decode(bytes(body))
        except ValueError:
            found = None
        name = found.get("type") if isinstance(found, dict) else None
        if not isinstance(name, str):
            return MessageError(f"not a message of {self._protocol}: {error}: {bytes(body[:_SHOWN_BYTES])!r}")
        known = (each.__struct_config__.tag for each in self.classes)
        if name not in known:
            return MessageError(f"{self._protocol} has no message {name[:_SHOWN_BYTES]!r}")
        return MessageError(f"invalid message {name} of {self._protocol}: {error}")


def _of_subclass(value: Any) -> Any:
    """Values of plugins may be of subclasses of JSON's types."""
    for plain in (str, int, float):
        if isinstance(value, plain):
            return getattr(plain, f"__{plain.__name__}__")(value)
    raise TypeError(f"a value of type {type(value).__name__} is none of JSON's: {value!r}")
