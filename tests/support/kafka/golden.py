"""The records that a Java worker 4.3.1 wrote, in ``kafka/golden/java-4.3.1.jsonl``.

Recorded by creating, pausing, resuming, restarting, stopping and deleting a FileStreamSource `golden-src` and a
FileStreamSink `golden-snk`, altering and resetting the offsets of the former, and reading the three internal topics
from their beginning.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Golden:
    topic: str
    partition: int
    partitions: int
    key: bytes
    value: bytes | None


def golden(topic: str) -> list[Golden]:
    """Return the records of the ``config``, ``status`` or ``offset`` topic, in the order of their partition."""
    lines = (Path(__file__).parents[2] / "kafka" / "golden" / "java-4.3.1.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    return [
        Golden(
            r["topic"],
            r["partition"],
            r["partitions"],
            r["key"].encode(),
            None if r["value"] is None else r["value"].encode(),
        )
        for r in rows
        if r["topic"] == topic
    ]
