"""The plan of a pass over a batch: the shapes whose rows are written, and from which record on.

A pass stops in a partition of a topic at the first record of a shape that is not in the plan. The next pass continues
there, when the table has the columns. Processes report where by their totals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import types as t

from penstock.connectors.jdbc.columns import ColumnKind, RowShape, SinkColumn
from penstock.spark.query.sink.progress import Partition
from penstock.spark.query.sink.totals import BatchTotals

TYPES: dict[ColumnKind, t.DataType] = {
    ColumnKind.INT8: t.ByteType(),
    ColumnKind.INT16: t.ShortType(),
    ColumnKind.INT32: t.IntegerType(),
    ColumnKind.INT64: t.LongType(),
    ColumnKind.FLOAT32: t.FloatType(),
    ColumnKind.FLOAT64: t.DoubleType(),
    ColumnKind.BOOLEAN: t.BooleanType(),
    ColumnKind.STRING: t.StringType(),
    ColumnKind.BYTES: t.BinaryType(),
    ColumnKind.DECIMAL: t.StringType(),  # databases have more digits than Spark
    ColumnKind.DATE: t.IntegerType(),  # days since 1970
    ColumnKind.TIME: t.IntegerType(),  # milliseconds since midnight
    ColumnKind.TIMESTAMP: t.LongType(),  # milliseconds since 1970
    ColumnKind.MICROS: t.StringType(),  # of any number of digits
    ColumnKind.NANOS: t.StringType(),
}
HEAD = t.StructType(
    [
        t.StructField("_shape", t.IntegerType()),
        t.StructField("_topic", t.StringType()),
        t.StructField("_partition", t.IntegerType()),
        t.StructField("_offset", t.LongType()),
    ]
)
"""The columns before those of the table: the number of the row's shape, and the place of its record in Kafka."""


@dataclass(frozen=True, slots=True)
class PassPlan:
    """The plan of one pass.

    ``starts``: where to start in each partition; those that are not in it are done. None: all, from the start.
    ``done``: the offsets after what has been written already.
    """

    shapes: tuple[RowShape, ...] = ()
    starts: Mapping[Partition, int] | None = None
    done: Mapping[Partition, int] = field(default_factory=dict)
    drifted: Mapping[RowShape, str] = field(default_factory=dict)
    """The shapes whose records are refused, since their tables lack columns, with the reasons."""

    def wants(self, place: Partition, offset: int) -> bool:
        starts = self.starts
        return offset >= self.done.get(place, 0) and (starts is None or offset >= starts.get(place, offset + 1))

    def row_type(self) -> t.StructType:
        """Return the type of rows: a struct for each shape, all of which are null but the row's own."""
        structs = [t.StructField(f"s{i}", struct_type(shape)) for i, shape in enumerate(self.shapes)]
        return t.StructType([*HEAD, *structs])


def struct_type(shape: RowShape) -> t.StructType:
    return t.StructType([t.StructField(f"c{i}", _type(column)) for i, column in enumerate(shape.columns)])


def _type(column: SinkColumn) -> t.DataType:
    return t.ArrayType(TYPES[column.kind]) if column.array else TYPES[column.kind]


@dataclass(slots=True)
class Stops:
    """End of a pass: new shapes, and the offset in each partition at which the next pass continues."""

    shapes: list[RowShape] = field(default_factory=list)
    starts: dict[Partition, int] = field(default_factory=dict)


@dataclass(slots=True)
class PassTotals:
    """Totals of a pass over a batch, and where it has stopped."""

    batch: BatchTotals = field(default_factory=BatchTotals)
    stops: Stops = field(default_factory=Stops)

    def add(self, more: PassTotals) -> None:
        self.batch.add(more.batch)
        stops = self.stops
        stops.shapes += [shape for shape in more.stops.shapes if shape not in stops.shapes]
        stops.starts |= more.stops.starts
