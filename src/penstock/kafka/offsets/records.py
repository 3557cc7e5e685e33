"""Source offsets as bytes: exactly those of Java's offset stores, in a topic or in a file.

A key is the JSON list ``["<connector>",{<source partition>}]``, a value the source offset as a JSON object; None, or
``null``, says that there is none. Java's maps have no order of members, so one partition may be written in several
ways; ``canonical`` is the same for all of them. A header may name the identity of the origin that the offset is a
position in (``penstock.api.origin``); Java ignores it.

Java: ``OffsetStorageWriter``, ``OffsetStorageReaderImpl``, ``OffsetUtils``.
"""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import orjson

from penstock.api.errors import DataError
from penstock.java.jackson import compact

log = logging.getLogger(__name__)

IDENTITY_HEADER = "penstock.origin"


class OffsetKey(NamedTuple):
    connector: str
    partition: dict[str, Any] | None


def encode_key(connector: str, partition: Mapping[str, Any] | None) -> bytes:
    """The bytes of a key that was never stored; a stored one is written again with its stored bytes. A partition may
    be null.
    """
    validate_format(partition)
    return compact.encode([connector, None if partition is None else dict(partition)])


def encode_value(offset: Mapping[str, Any] | None) -> bytes | None:
    if offset is None:
        return None
    validate_format(offset)
    return compact.encode(dict(offset))


def decode_key(key: bytes | None) -> OffsetKey | None:
    """Connector and source partition of these bytes; None, after a warning with Java's words, if they can't be
    understood.
    """
    if key is None:
        log.warning("Ignoring offset partition key with an unexpected null value")
        return None
    try:
        document = compact.decode(key)
    except ValueError as e:
        log.warning("Ignoring offset partition key with unknown serialization. Expected json. %s: %r", e, key[:200])
        return None
    match document:
        case [str(connector), None]:
            return OffsetKey(connector, None)
        case [str(connector), dict(partition)] if _has_canonical(partition):
            return OffsetKey(connector, partition)
        case [str(), dict()]:
            problem = "depth of the second element in the partition key list"
        case list() if len(document) != 2:
            problem = f"number of elements. Expected: 2, actual: {len(document)}"
        case [str(), other]:
            problem = (
                f"format for the second element in the partition key list. Expected type: object, actual: {other!r}"
            )
        case [other, _]:
            problem = f"format for the first element in the partition key list. Expected type: text, actual: {other!r}"
        case _:
            problem = f"format. Expected type: list, actual: {document!r}"
    log.warning("Ignoring offset partition key with an unexpected %s", problem)
    return None


def decode_value(value: bytes | None) -> dict[str, Any] | None:
    """The source offset of these bytes; None for none. Raises DataError if they are no JSON object."""
    if value is None:
        return None
    try:
        offset = compact.decode(value)
    except ValueError as e:
        raise DataError(f"A stored source offset is no JSON: {value[:200]!r}") from e
    if offset is not None and not isinstance(offset, dict):
        raise DataError(f"A stored source offset should be a JSON object, not {value[:200]!r}")
    return offset


def headers_of(identity: Mapping[str, Any] | None) -> list[tuple[str, str | bytes | None]]:
    """Return the headers of an offset's record."""
    return [] if identity is None else [(IDENTITY_HEADER, json.dumps(identity, separators=(",", ":")))]


def identity_in(headers: Iterable[tuple[str, str | bytes | None]]) -> dict[str, Any] | None:
    """Return the identity in the headers of a record; None for none, and for what is no JSON object."""
    found = [value for name, value in headers if name == IDENTITY_HEADER]
    try:
        identity = json.loads(found[-1] or b"") if found else None
    except (ValueError, RecursionError):
        return None
    return identity if isinstance(identity, dict) else None


def canonical(partition: Mapping[str, Any] | None) -> bytes:
    """The same bytes for the same source partition, whatever the order of its members. Raises DataError for what can be
    no source partition, if it has no such bytes.
    """
    try:
        return orjson.dumps(partition, default=_base64, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # halves of surrogate pairs, which ``json`` escapes
        pass
    try:
        return json.dumps(partition, default=_base64, sort_keys=True, separators=(",", ":")).encode()
    except TypeError:
        validate_format(partition)
        raise


def _has_canonical(partition: Mapping[str, Any]) -> bool:
    """Nothing that a worker writes is nested, but others can write to the topic."""
    if not any(isinstance(value, dict | list) for value in partition.values()):
        return True
    try:
        return bool(canonical(partition))
    except (DataError, TypeError, RecursionError):
        return False


def _base64(value: object) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError


def validate_format(members: Mapping[str, Any] | None) -> None:
    """Raise DataError, with Java's words, unless all keys are texts and all values null, texts, numbers, booleans or
    bytes.
    """
    for key, value in (members or {}).items():
        if not isinstance(key, str):
            raise DataError("Offsets may only use String keys")
        if value is not None and not isinstance(value, str | int | float | bytes):
            kind = _KINDS.get(type(value)) or f"class {type(value).__name__}"
            raise DataError(f"Offsets may only contain primitive types as values, but field {key} contains {kind}")


_KINDS: dict[type, str] = {list: "ARRAY", tuple: "ARRAY", dict: "MAP"}
