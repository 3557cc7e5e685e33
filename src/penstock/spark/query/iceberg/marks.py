"""Marks of a connector's batches in the snapshots of a table, and which of them its present rows have.

Each commit of a connector has a mark: its generation, its batch, and the offsets after it with the IDs of their topics.
The mark is in the summary of the snapshot, and once more as a property of the table, since snapshots expire. The
summaries of the branch's ancestors are what counts: after a rollback they are those of the rows that are there, while
the property is still the latest. So where the ancestors with marks have expired, the property is trusted only if the
snapshot that it names is the parent of the oldest that is left, or if the table still has a file of the connector's
last rows.

Offsets of many partitions are in the property alone: the metadata of a table has the summaries of all its snapshots.
A branch that does not exist yet is judged by main, where it will begin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import orjson

from penstock.api.query import BatchVersion
from penstock.spark.query.sink.progress import Partition

SUMMARY = "penstock."
SINK = f"{SUMMARY}sink"
PROPERTY = "penstock.sink."
"""The beginning of the property's name; the sink's name follows."""
MAIN = "main"
MAX_OFFSETS = 1000
"""The most characters that offsets have in the summary of a snapshot."""


@dataclass(frozen=True, slots=True)
class Generation:
    """A run of a connector as its table knows it: of two numbers the larger one is the later run."""

    number: int
    token: str

    def text(self) -> str:
        return f"{self.number}-{self.token}"

    @classmethod
    def of(cls, text: str) -> Self:
        number, _, token = text.partition("-")
        return cls(int(number), token)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """The last batch of a connector in a table, and the run that has committed it or has taken over since."""

    sink: str
    """The name of the connector that its cluster and group are part of."""
    connector: str = ""
    group: str = ""
    cluster: str = ""
    generation: Generation
    version: BatchVersion
    offsets: Mapping[Partition, int] = field(default_factory=dict)
    """The offsets after the last records, by topic and partition."""
    topics: Mapping[str, str] = field(default_factory=dict)
    """The IDs of the topics, as far as they are known."""
    rows: tuple[int, int] | None = None
    """The last snapshot of the connector that has added files, with its sequence number; None: none has."""

    def summary(self) -> dict[str, str]:
        """Return the properties of the summary of a snapshot."""
        texts = self._texts()
        if len(texts["offsets"]) > MAX_OFFSETS:
            del texts["offsets"]
        return {SUMMARY + name: value for name, value in texts.items()}

    def property(self, snapshot: int, sequence: int, branch: str) -> dict[str, str]:
        """Return the table's property; ``snapshot`` is the one that has the mark, with its sequence number."""
        kept = {**self._texts(), "branch": branch, "snapshot": snapshot, "sequence": sequence}
        return {PROPERTY + self.sink: orjson.dumps(kept).decode()}

    def after(self, version: BatchVersion, offsets: Mapping[Partition, int], topics: Mapping[str, str]) -> Mark:
        """Return the mark of a later batch of the same run."""
        same = version.epoch == self.version.epoch
        return replace(
            self,
            version=version,
            offsets={**(self.offsets if same else {}), **offsets},
            topics={**(self.topics if same else {}), **topics},
        )

    def is_same(self, other: Mark | None) -> bool:
        """Whether it is what is read where this mark was stored. ``offsets`` and ``rows`` follow from the rest."""
        names = "sink", "generation", "version"
        return other is not None and all(getattr(self, name) == getattr(other, name) for name in names)

    def _texts(self) -> dict[str, str]:
        found: dict[str, dict[str, Any]] = {}
        for (topic, partition), offset in sorted(self.offsets.items()):
            place = found.setdefault(topic, {"id": self.topics.get(topic, ""), "offsets": {}})
            place["offsets"][str(partition)] = offset
        rows = {} if self.rows is None else {"rows": f"{self.rows[0]}-{self.rows[1]}"}
        return {
            "sink": self.sink,
            "connector": self.connector,
            "group": self.group,
            "cluster": self.cluster,
            "generation": self.generation.text(),
            "epoch": self.version.epoch,
            "batch": str(self.version.number),
            "offsets": orjson.dumps(found).decode(),
            **rows,
        }


def mark_of(texts: Mapping[str, Any]) -> Mark:
    """Read a mark. Raises ValueError and KeyError if it is none."""
    found: dict[str, Any] = orjson.loads(texts.get("offsets", "{}"))
    snapshot, _, sequence = str(texts.get("rows", "")).partition("-")
    return Mark(
        sink=texts["sink"],
        connector=texts["connector"],
        group=texts["group"],
        cluster=texts["cluster"],
        generation=Generation.of(texts["generation"]),
        version=BatchVersion(texts["epoch"], int(texts["batch"])),
        offsets={(t, int(p)): int(offset) for t, each in found.items() for p, offset in each["offsets"].items()},
        topics={topic: each["id"] for topic, each in found.items() if each["id"]},
        rows=(int(snapshot), int(sequence)) if snapshot else None,
    )


@dataclass(frozen=True, slots=True)
class KnownBatch:
    """The knowledge of a table about a connector's batches."""

    mark: Mark | None
    """The last batch whose rows the table has; None if it has none, or if that is not known."""
    lost: Mark | None = None
    """A batch that the property names, but whose rows the table does not have any more."""
    unclear: bool = False
    """Whether it can't be told if the table has the rows of ``lost``."""
    branch: str = ""
    """The branch to which ``lost`` was committed; empty if it is not known."""

    @property
    def latest(self) -> BatchVersion | None:
        """The last batch that may be in the table."""
        found = self.mark or (self.lost if self.unclear else None)
        return None if found is None else found.version


def known_in(table: Any, branch: str, sink: str) -> KnownBatch:
    """Judge which batch of a sink a table has. Reads manifests only where snapshots have expired."""
    metadata = table.metadata
    kept = _Kept.of(metadata.properties.get(PROPERTY + sink))
    ref = metadata.refs.get(branch) or metadata.refs.get(MAIN)
    head = None if ref is None else metadata.snapshot_by_id(ref.snapshot_id)
    snapshot, oldest = head, None
    while snapshot is not None:
        summary = {} if snapshot.summary is None else snapshot.summary.additional_properties
        if summary.get(SINK) == sink:
            own = mark_of({name.removeprefix(SUMMARY): value for name, value in summary.items()})
            if kept is None:
                return KnownBatch(own)
            if kept.snapshot == snapshot.snapshot_id:
                return KnownBatch(kept.mark)
            return KnownBatch(own, kept.mark, branch=kept.branch)
        oldest, parent = snapshot, snapshot.parent_snapshot_id
        snapshot = None if parent is None else metadata.snapshot_by_id(parent)
    if kept is None:
        return KnownBatch(None)
    mark = kept.mark
    if mark.rows is None or (oldest is not None and oldest.parent_snapshot_id == kept.snapshot):
        return KnownBatch(mark)
    if head is None or oldest is None:
        return KnownBatch(None, mark, branch=kept.branch)
    if _has_rows_of(table, head, *mark.rows):
        return KnownBatch(mark)
    # Of two snapshots of a table the later one has the greater number. So what is left of this branch goes back to
    # before the connector's last rows, or ends before them, if they are known not to be in it.
    complete = oldest.sequence_number <= mark.rows[1] or head.sequence_number < mark.rows[1]
    return KnownBatch(None, mark, unclear=not complete, branch=kept.branch)


@dataclass(frozen=True, slots=True)
class _Kept:
    """The mark in the table's property, and where the same one is among the snapshots."""

    mark: Mark
    snapshot: int
    branch: str

    @classmethod
    def of(cls, text: str | None) -> Self | None:
        if text is None:
            return None
        found = orjson.loads(text)
        return cls(mark_of(found), int(found["snapshot"]), found.get("branch", ""))


def _has_rows_of(table: Any, head: Any, id: int, sequence: int) -> bool:
    """Whether a file that the snapshot ``id`` has added is still among those of the snapshot ``head``."""
    for manifest in head.manifests(table.io):
        oldest = manifest.min_sequence_number
        if manifest.sequence_number < sequence or (oldest is not None and oldest > sequence):
            continue
        if manifest.added_snapshot_id == id:
            return True
        if any(entry.snapshot_id == id for entry in manifest.fetch_manifest_entry(table.io)):
            return True
    return False
