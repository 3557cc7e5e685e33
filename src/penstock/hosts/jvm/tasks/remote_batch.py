"""Batches whose records are in the JVM: only the columns that the pipeline itself needs are here.

They behave as any batch. Topics, partitions, timestamps and origins are here; keys, values and headers are fetched when
they are read. Columns that are replaced (``with_``) are kept here, and sent to the JVM when a step there needs them.
``remote`` sends the records of an ordinary batch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Self

import msgspec

from penstock.api.batch import COLUMNS, FIELDS, NO_HEADERS, Batch, SinkOrigin, SourceOrigin, selected
from penstock.api.columns import Late, Table
from penstock.api.record import Header
from penstock.api.schema import Schema
from penstock.hosts.jvm.codec.decode import Decoder
from penstock.hosts.jvm.codec.encode import Encoder
from penstock.hosts.jvm.messages.base import Part
from penstock.hosts.jvm.messages.batches import (
    BatchInJvm,
    BatchInput,
    ConcatBatches,
    FetchColumns,
    KeepBatch,
    KeptBatch,
    SentBatch,
)
from penstock.hosts.jvm.tasks.task_jvm import TaskJvm

Input = tuple[BatchInput, list[bytes]]
"""The records of a request, and its payload."""

PARTS: tuple[Part, ...] = ("key", "value", "headers")
"""Parts that are in the JVM only, until somebody reads them."""
_PART_COLUMNS = {part: tuple(column.name for column in COLUMNS if column.part == part) for part in PARTS}
_OWN = {column.public: column.name for column in COLUMNS if column.part is None}
EVERYTHING = (*_OWN, *PARTS)
_DEFAULTS = {column.name: column.default for column in COLUMNS}


class Handle:
    """Number of a batch in the JVM, which forgets the batch when no object here refers to it any more."""

    __slots__ = ("_jvm", "number")

    def __init__(self, jvm: TaskJvm, number: int) -> None:
        self._jvm, self.number = jvm, number

    def __del__(self) -> None:
        self._jvm.free(self.number)


class RemoteBatch(Batch):
    """A batch in the JVM. Its columns are properties, see below."""

    __slots__ = ("_absent", "_columns", "_handle", "_jvm", "_n", "_replaced", "_rows")

    _jvm: TaskJvm
    _handle: Handle
    _rows: Sequence[int] | None
    _columns: dict[str, Any]
    _replaced: frozenset[str]
    _absent: frozenset[str]
    _n: int

    def __init__(
        self,
        jvm: TaskJvm,
        handle: Handle,
        rows: Sequence[int] | None,
        columns: dict[str, Any],
        replaced: frozenset[str] = frozenset(),
        absent: Collection[str] = (),
    ) -> None:
        """``columns`` are those that are here, by the names of a batch's fields, the four of ``_OWN`` and ``origin``
        among them. ``replaced``: those of ``EVERYTHING`` that are different from the JVM's. ``absent``: key or headers
        if no record has any.
        """
        for name, value in (
            ("_jvm", jvm),
            ("_handle", handle),
            ("_rows", rows),
            ("_columns", columns),
            ("_replaced", replaced),
            ("_absent", frozenset(absent)),
            ("_n", len(columns["topics"])),
        ):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return self._n

    def _column(self, part: Part, name: str) -> Any:
        if name not in self._columns:
            if part in self._absent:
                for column in _PART_COLUMNS[part]:
                    self._columns.setdefault(column, [_DEFAULTS[column]] * self._n)
            else:
                self._fetch(part)
        return self._columns[name]

    def _fetch(self, part: Part) -> None:
        request = FetchColumns(self._kept(), [part], self._jvm.take_free())
        reply = self._jvm.session.call(request, lane=self._jvm.lane)
        self._jvm.schemas.learn(reply.result.schemas)
        decoder = Decoder(reply.payload, self._jvm.schemas.get)
        if part == "headers":
            self._columns["headers"] = _headers(decoder)
            return
        schemas = decoder.schema_column()
        self._columns.setdefault(f"{part}_schemas", schemas)
        self._columns.setdefault(f"{part}_column", decoder.columns(schemas))

    def _kept(self) -> KeptBatch:
        return KeptBatch(self._handle.number, None if self._rows is None else list(self._rows))

    # -- as any batch

    def with_(self, **columns: Any) -> Self:
        named = {FIELDS.get(name, name): column for name, column in columns.items()}
        replaced: set[str] = {part for part, names in _PART_COLUMNS.items() if any(name in named for name in names)}
        replaced |= {part for part, name in _OWN.items() if name in named}
        return type(self)(
            self._jvm,
            self._handle,
            self._rows,
            {**self._columns, **named},
            self._replaced | replaced,
            self._absent,
        )

    def select(self, rows: Sequence[int]) -> Batch:
        chosen = list(rows)
        columns = {name: selected(column, chosen) for name, column in self._columns.items() if name != "origin"}
        columns["origin"] = None if self.origin is None else self.origin.select(chosen)
        places = chosen if self._rows is None else [self._rows[i] for i in chosen]
        return type(self)(self._jvm, self._handle, places, columns, self._replaced, self._absent)

    def _concat(self, batches: Sequence[Batch]) -> Batch:
        if not all(isinstance(each, RemoteBatch) and each._jvm is self._jvm and not each._replaced for each in batches):
            return super()._concat(batches)
        parts = [each._kept() for each in batches if isinstance(each, RemoteBatch)]
        reply = self._jvm.session.call(ConcatBatches(parts, self._jvm.take_free()), lane=self._jvm.lane)
        own = {name: [e for each in batches for e in _list(getattr(each, name))] for name in _OWN.values()}
        columns = {**own, "origin": self._joined_origin(batches)}
        absent = frozenset.intersection(*[each._absent for each in batches if isinstance(each, RemoteBatch)])
        return type(self)(self._jvm, Handle(self._jvm, reply.result.batch), None, columns, frozenset(), absent)

    # -- as the input of a call

    def input(self, needed: Collection[str]) -> Input:
        """Return the batch as the input of a request, with those of the needed columns that have been replaced."""
        kept = self._kept()
        replaced = [name for name in EVERYTHING if name in self._replaced and name in needed]
        if not replaced:
            return kept, []
        encoder = Encoder(self._jvm.schemas.number)
        _encode(self, replaced, encoder)
        return KeptBatch(kept.batch, kept.rows, replaced, self._jvm.schemas.take_descriptions()), encoder.parts

    @property
    def anchor(self) -> Handle:
        """The object as long as which the JVM keeps the records."""
        return self._handle

    @property
    def has_keys(self) -> bool:
        """True if any record has a key, or a schema of one."""
        return "key" not in self._absent or "key" in self._replaced

    @property
    def has_headers(self) -> bool:
        """True if any record has headers; they need not be here."""
        if "headers" in self._replaced or "headers" in self._columns:
            return any(self.headers)
        return "headers" not in self._absent

    def as_bytes(self, keys: list[Any], values: list[Any], headers: list[tuple[Header, ...]]) -> BytesBatch:
        none = [None] * self._n
        made = self.with_(keys=keys, key_schemas=none, values=values, value_schemas=none, headers=headers)
        return BytesBatch(self._jvm, self._handle, self._rows, made._columns, made._replaced, self._absent)

    @property
    def whole(self) -> bool:
        """True if the JVM has the batch as it is here."""
        return not self._replaced


def _own_column(name: str) -> property:
    return property(lambda batch: batch._columns[name])


def _part_column(part: Part, name: str) -> property:
    return property(lambda batch: batch._column(part, name))


for _name in _OWN.values():
    setattr(RemoteBatch, _name, _own_column(_name))
for _part, _names in _PART_COLUMNS.items():
    for _name in _names:
        setattr(RemoteBatch, _name, _part_column(_part, _name))
setattr(RemoteBatch, "origin", _own_column("origin"))  # noqa: B010 - mypy takes a field for a variable of objects


class BytesBatch(RemoteBatch):
    """A batch whose keys, values and headers are bytes, and are here."""

    __slots__ = ()


def input_of(jvm: TaskJvm, batch: Batch, needed: Collection[str] = EVERYTHING) -> Input:
    """Return a batch as the ``input`` of a request, and the request's payload. It has to be sent now."""
    if isinstance(batch, RemoteBatch) and batch._jvm is jvm:
        return batch.input(needed)
    return described(jvm, encoded(jvm, batch))


def described(jvm: TaskJvm, made: tuple[SentBatch, list[bytes]]) -> Input:
    """Return what ``encoded`` has made with the schemas that the JVM does not know yet. It has to be sent now."""
    return msgspec.structs.replace(made[0], schemas=jvm.schemas.take_descriptions()), made[1]


def encoded(jvm: TaskJvm, batch: Batch, read: bool = False) -> tuple[SentBatch, list[bytes]]:
    """Encode a batch that is not in the JVM, as ``input_of`` sends it, but for the descriptions of schemas.

    ``read``: its records are as they were read from their topics, and the JVM is to remember that of each.
    """
    encoder = Encoder(jvm.schemas.number)
    columns = EVERYTHING if any(batch.headers) else tuple(each for each in EVERYTHING if each != "headers")
    sent = [*columns]
    _encode(batch, columns, encoder)
    match batch.origin:
        case SinkOrigin() as origin:
            for name, column in (
                ("original topics", origin.topics),
                ("original partitions", origin.partitions),
                ("offsets", origin.offsets),
                ("timestamp types", origin.timestamp_types),
            ):
                if column is not batch.topics and column is not batch.partitions:  # as it was read
                    sent.append(name)
                    encoder.column(None, column)
            return SentBatch("sink", len(batch), sent, read), encoder.parts
        case SourceOrigin(partitions, offsets):
            distinct, rows = list(partitions), list(range(len(batch)))
            if distinct and distinct.count(distinct[0]) == len(distinct):
                distinct, rows = [distinct[0]], [0] * len(batch)
            made = SentBatch(
                "source",
                len(batch),
                sent,
                source_partitions=distinct,
                source_offsets=list(offsets),
                source_partition_rows=rows,
            )
            return made, encoder.parts
    return SentBatch("source", len(batch), sent), encoder.parts


def remote(jvm: TaskJvm, batch: Batch, made: Input | None = None) -> RemoteBatch:
    """Return the batch with its records in the JVM as well. ``made``: what ``input_of`` has returned for it."""
    if isinstance(batch, RemoteBatch) and batch._jvm is jvm and batch.whole:
        return batch
    input, payload = made or input_of(jvm, batch)
    reply = jvm.session.call(KeepBatch(input, jvm.take_free()), payload, lane=jvm.lane)
    kept = after(jvm, batch, reply.result)
    kept._columns.update((name, getattr(batch, name)) for names in _PART_COLUMNS.values() for name in names)
    return kept


def after(jvm: TaskJvm, before: Batch, made: BatchInJvm) -> RemoteBatch:
    """Return the batch that a step in the JVM has made of another one."""
    columns: dict[str, Any]
    if made.dropped:
        dropped = set(made.dropped)
        rows = [i for i in range(len(before)) if i not in dropped]
        columns = {
            **{name: selected(getattr(before, name), rows) for name in _OWN.values()},
            "origin": None if before.origin is None else before.origin.select(rows),
        }
    else:
        columns = {name: getattr(before, name) for name in (*_OWN.values(), "origin")}
    return RemoteBatch(jvm, Handle(jvm, made.batch), None, {**columns, **_described(made)}, absent=made.absent)


def received(jvm: TaskJvm, made: BatchInJvm, origin: SourceOrigin | SinkOrigin | None) -> RemoteBatch:
    """Return a batch whose records were made in the JVM."""
    n = made.n
    columns = {"partitions": [None] * n, "timestamp_column": [None] * n, **_described(made), "origin": origin}
    return RemoteBatch(jvm, Handle(jvm, made.batch), None, columns, absent=made.absent)


def _described(made: BatchInJvm) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    if (topics := made.topics) is not None:
        names, rows = topics.names, topics.rows
        columns["topics"] = names * made.n if rows is None else [names[row] for row in rows]
    if made.partitions is not None:
        columns["partitions"] = made.partitions
    if made.timestamps is not None:
        columns["timestamp_column"] = made.timestamps
    return columns


def _encode(batch: Batch, columns: Collection[str], encoder: Encoder) -> None:
    for name in columns:
        match name:
            case "key":
                _encode_part(encoder, batch.key_schemas, batch.key_column)
            case "value":
                _encode_part(encoder, batch.value_schemas, batch.value_column)
            case "headers":
                _encode_headers(encoder, batch.headers)
            case _:
                encoder.column(None, getattr(batch, name))


def _encode_part(encoder: Encoder, schemas: list[Schema | None], values: list[Any] | Table) -> None:
    encoder.schema_column(schemas)
    encoder.columns(schemas, values)


def _encode_headers(encoder: Encoder, rows: Sequence[Any]) -> None:
    """Headers, or pairs of names and bytes as they were fetched."""
    headers = [header for row in rows for header in row]
    schemas = [header[1] if len(header) == 3 else None for header in headers]
    encoder.column(None, list(map(len, rows)))
    encoder.column(None, [header[0] for header in headers])
    _encode_part(encoder, schemas, [header[-1] for header in headers])


def _headers(decoder: Decoder) -> list[tuple[Header, ...]]:
    counts, names = decoder.plain(), decoder.plain()
    schemas = decoder.schema_column()
    return header_rows(counts, map(Header, names, schemas, decoder.columns(schemas)))


def header_rows(counts: list[int], headers: Iterator[Header]) -> list[tuple[Header, ...]]:
    """The headers of all records, divided into so many of each."""
    return [tuple([next(headers) for _ in range(count)]) if count else NO_HEADERS for count in counts]


def _list(column: Any) -> list[Any]:
    return column.get() if isinstance(column, Late) else column
