"""The plan of a batch: which rows Spark's Python processes make of records, and how they report to the driver.

A process that succeeds reports its totals (``sink.totals``); one that fails, by the message of its exception.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pyspark.sql import types as t

from penstock.hosts.errors import HostLost
from penstock.spark.query.sink.progress import Partition

EXTRAS = t.StructType(
    [
        t.StructField("_topic", t.StringType()),
        t.StructField("_partition", t.IntegerType()),
        t.StructField("_offset", t.LongType()),
        t.StructField("_timestamp", t.TimestampType()),
        t.StructField("_key", t.StringType()),
        t.StructField(
            "_headers",
            t.ArrayType(t.StructType([t.StructField("key", t.StringType()), t.StructField("value", t.StringType())])),
        ),
    ]
)
"""The columns of ``records`` that are not the value's."""

PLACE, DELETED = "__penstock_place", "__penstock_deleted"
CHANGE = t.StructType(
    [
        t.StructField(
            PLACE,
            t.StructType(
                [
                    t.StructField("offset", t.LongType()),
                    t.StructField("partition", t.IntegerType()),
                    t.StructField("topic", t.StringType()),
                ]
            ),
        ),
        t.StructField(DELETED, t.BooleanType()),
    ]
)
"""The columns of rows that change others: which of a key is the last, by its place, and whether it deletes."""

SCHEMA_COLUMN = "columns"
_REPORT = re.compile(r"penstock reports (\{.*\})")


class RowsError(Exception):
    """Report of a process to the driver why it failed: JSON in the message, which Spark wraps several times."""

    def __init__(self, **report: str) -> None:
        super().__init__(f"penstock reports {json.dumps(report)}")


def lost_host(lost: HostLost) -> RowsError:
    """Return the report that a process of plugins has ended."""
    return RowsError(lost=str(lost), died="yes" if lost.by_itself else "")


def reported(message: str) -> dict[str, str]:
    """Return the report of a RowsError in Spark's long message, or an empty one. Raises HostLost if it reports that."""
    found = _REPORT.search(message)
    report: dict[str, str] = json.loads(found[1]) if found else {}
    if "lost" in report:
        raise HostLost(report["lost"], by_itself=bool(report["died"]))
    return report


@dataclass(frozen=True, slots=True)
class RowPlan:
    """The columns of the rows: those of the values, and some of EXTRAS."""

    columns: str
    """A StructType as JSON."""
    declared: bool = False
    """The columns are those of the setting ``schema``: values are made to fit them."""
    extras: tuple[str, ...] = ()
    zone: str = "UTC"
    """Spark's time zone, which is part of Arrow's types."""
    tombstones: bool = False
    """Whether records without a value are rows, of nulls."""
    keyed: bool = False
    """Whether the rows have those of CHANGE too."""
    orc: bool = False
    """Whether the rows are written as ORC, which does not have all days."""
    accepted: frozenset[str] | None = None
    """The columns, in lower case, beside which a record may have no others; None: any."""
    refused: Mapping[Partition, Collection[int]] = field(default_factory=dict)
    """Offsets of records whose rows the table refuses, by partition; they are left out."""
    target: str = ""
    """The name of the table in messages about them."""
    exact: bool = False
    """Whether the columns of records have what their schemas say about null; otherwise all may be."""
    records: str = ""
    """The columns of records, a StructType as JSON, if rows have others than these; those that rows lack are left out.
    """
    fits: str = ""
    """The columns of the table, a StructType as JSON, if records that do not fit them are refused; otherwise empty."""
    ignores_case: bool = False
    """Whether columns are found without regard to upper and lower case."""
    keys: str = ""
    """Handling of keys without a column in maps that are rows of a table: ``drop`` or ``refuse``; empty: no such maps.
    """

    def row_type(self) -> t.StructType:
        change = CHANGE if self.keyed else ()
        return t.StructType([*self.value_type(), *(EXTRAS[name] for name in self.extras), *change])

    def value_type(self) -> t.StructType:
        return t.StructType.fromJson(json.loads(self.columns))
