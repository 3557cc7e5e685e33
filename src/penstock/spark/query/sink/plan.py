"""What rows a batch of records is to become, and what Spark's processes say to the driver when they can't make them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from pyspark.sql import types as t

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

SCHEMA_COLUMN = "columns"
_SAID = re.compile(r"penstock said (\{.*\})")


class RowsError(Exception):
    """How a process tells the driver why it has failed: JSON in the message, which Spark wraps many times."""

    def __init__(self, **said: str) -> None:
        super().__init__(f"penstock said {json.dumps(said)}")


def said(message: str) -> dict[str, str]:
    """What a RowsError in Spark's long message says; empty if there is none."""
    found = _SAID.search(message)
    return json.loads(found[1]) if found else {}


@dataclass(frozen=True, slots=True)
class Plan:
    """What rows are made: the columns of the values, and which of EXTRAS."""

    columns: str
    """A StructType as JSON."""
    declared: bool = False
    """The columns are those of the setting ``schema``: values are made to fit them."""
    extras: tuple[str, ...] = ()
    zone: str = "UTC"
    """Spark's time zone, which is part of Arrow's types."""
    tombstones: bool = False
    """Whether records without a value are rows, of nulls."""

    def row_type(self) -> t.StructType:
        return t.StructType([*self.value_type(), *(EXTRAS[name] for name in self.extras)])

    def value_type(self) -> t.StructType:
        return t.StructType.fromJson(json.loads(self.columns))
