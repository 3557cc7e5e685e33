"""A record of a topic, decoded and masked: the form that is shown, and the texts that a search finds."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Message

from penstock.api.batch import Batch
from penstock.core.config.masked_fields import KEY, VALUE, MaskedFields
from penstock.core.config.secrets import MASK
from penstock.pipeline.errors import Step
from penstock.pipeline.sink.fetch import raw_batch
from penstock.pipeline.trace import headline
from penstock.preview import shown


@dataclass(frozen=True, slots=True)
class DecodedRecord:
    """One record, whose masked fields are masked already."""

    batch: Batch
    sizes: dict[str, int | None]
    """Bytes of the key and the value."""
    errors: list[dict[str, Any]]

    def shown(self) -> dict[str, Any]:
        """Return the record as JSON values, with long texts cut."""
        found = shown.record(self.batch)
        origin = found.pop("origin")
        place = {"partition": origin["partition"], "offset": origin["offset"]}
        return {**found, **place, "bytes": self.sizes, "errors": self.errors}

    def has(self, text: str) -> bool:
        """Return whether the key, the value, or a header's name or value has the text, which is casefolded.

        It may be a part of a text in it, or of its JSON.
        """
        parts = (
            self.batch.keys[0],
            self.batch.values[0],
            [[each[0], each[-1]] for each in self.batch.headers[0] or ()],
        )
        whole = (shown.value(part, cut=False) for part in parts)
        return any(text in found.casefold() for part in whole for found in _texts(part))


def decoded(message: Message, steps: list[Step], masked: MaskedFields) -> DecodedRecord:
    """Decode a record by the steps of converters. Bytes that a converter does not read stay bytes."""
    record = raw_batch([message])
    sizes = {KEY: shown.size(record.keys[0]), VALUE: shown.size(record.values[0])}
    errors = []
    for step in steps:
        try:
            record = step.apply(record)
        except Exception as error:
            said = headline(error).partition(":")[0] if masked else headline(error)
            errors.append({"stage": step.stage.name, "class": step.plugin, "message": said})
    return DecodedRecord(_masked_record(record, masked) if masked else record, sizes, errors)


def _masked_record(record: Batch, masked: MaskedFields) -> Batch:
    key, value = record.keys[0], record.values[0]
    return record.with_(
        keys=[_hidden(key) if KEY in masked.whole else _masked(key, masked.names)],
        values=[_hidden(value) if VALUE in masked.whole else _masked(value, masked.names)],
        headers=[tuple((*each[:-1], _hidden(each[-1])) for each in record.headers[0] or ())],
    )


def _masked(data: Any, names: frozenset[str], inner: bool = False) -> Any:
    """Return a key or value whose masked fields are hidden, and all of it if it has no fields.

    ``inner``: it is the value of a field that is not masked.
    """
    if dataclasses.is_dataclass(data) and not isinstance(data, type):
        data = {field.name: getattr(data, field.name) for field in dataclasses.fields(data)}
    match data:
        case Mapping():
            return {
                name: _hidden(each) if str(name) in names else _masked(each, names, inner=True)
                for name, each in data.items()
            }
        case list() | tuple() | set() | frozenset():
            return [_masked(each, names, inner) for each in data]
    return data if inner else _hidden(data)


def _hidden(data: Any) -> Any:
    return None if data is None else MASK


def _texts(value: Any) -> Iterator[str]:
    """Yield a text of JSON values, or their JSON and the texts in it, names of fields included."""
    if isinstance(value, str):
        yield value
        return
    yield json.dumps(value, ensure_ascii=False)
    yield from _inner_texts(value)


def _inner_texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            yield from value
            for each in value.values():
                yield from _inner_texts(each)
        case list():
            for each in value:
                yield from _inner_texts(each)
