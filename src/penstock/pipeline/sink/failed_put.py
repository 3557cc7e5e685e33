"""Message that names the records of a failed put: ``put`` does not say which of them it failed for."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.sink import TopicPartition
from penstock.pipeline.sink.original_records import OriginalRecords

MAX_NAMED = 10
"""Records that are named one by one; of more only the offsets of each partition."""
MAX_KEY = 100
"""Characters of a key that are shown."""


def named_records(records: Batch, originals: OriginalRecords, with_keys: bool) -> str | None:
    """Return a sentence with topic, partition and offset of each record, or None if the put had no records.

    ``with_keys``: with the key of each, as it was read. Java shows contents of records only where
    ``errors.log.include.messages`` is true.
    """
    origin = records.origin
    if not isinstance(origin, SinkOrigin) or not len(records):
        return None
    places = [TopicPartition(*place) for place in zip(origin.topics, origin.partitions, strict=True)]
    rows = list(zip(places, origin.offsets, strict=True))
    named = _each(rows, originals if with_keys else None) if len(rows) <= MAX_NAMED else _ranges(rows)
    return f"In a put of {len(rows)} record{'s' * (len(rows) > 1)}: {'; '.join(named)}"


def _each(rows: Iterable[tuple[TopicPartition, int]], originals: OriginalRecords | None) -> Iterator[str]:
    for partition, offset in rows:
        found = originals.find(partition, offset) if originals is not None else None
        key = "" if found is None else f", {_key(found.keys[0])}"
        yield f"topic {partition.topic}, partition {partition.partition}, offset {offset}{key}"


def _ranges(rows: Iterable[tuple[TopicPartition, int]]) -> Iterator[str]:
    offsets: dict[TopicPartition, list[int]] = {}
    for partition, offset in rows:
        offsets.setdefault(partition, []).append(offset)
    for (topic, number), found in sorted(offsets.items()):
        yield f"topic {topic}, partition {number}, {len(found)} with offsets from {min(found)} to {max(found)}"


def _key(key: bytes | None) -> str:
    if key is None:
        return "without a key"
    try:
        text = key.decode()
    except UnicodeDecodeError:
        encoded = base64.b64encode(key).decode()
        return f"key base64 {encoded if len(encoded) <= MAX_KEY else encoded[:MAX_KEY] + '...'}"
    cut = text if len(text) <= MAX_KEY else text[:MAX_KEY] + "..."
    # The page and the attention list read the places in such a text, so a key has to end, and to be on its line.
    shown = json.dumps(cut, ensure_ascii=False).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f"key {shown}"
