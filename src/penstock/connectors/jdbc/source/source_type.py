"""A type of a database, and the field of Connect that its columns become."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from penstock.api import schema as s

BIT, TINYINT, SMALLINT, INTEGER, BIGINT, BOOLEAN = -7, -6, 5, 4, -5, 16
REAL, FLOAT, DOUBLE, NUMERIC, DECIMAL = 7, 6, 8, 2, 3
DATE, TIME, TIME_ZONED, MOMENT, MOMENT_ZONED = 91, 92, 2013, 93, 2014
TEXTS = (1, 12, -1, -15, -9, -16, 2005, 2011, 70, 2009)
"""CHAR, VARCHAR, LONGVARCHAR, the same with N, CLOB, NCLOB, DATALINK, SQLXML."""
BINARY = (-2, -3, -4, 2004)
"""BINARY, VARBINARY, LONGVARBINARY, BLOB."""
OTHER, ARRAY = 1111, 2003
"""All of these are numbers of ``java.sql.Types``."""
WHOLE = (TINYINT, SMALLINT, INTEGER, BIGINT)

COMPLEX, TIME_TEXTS = "sql.complex.types.enable=true", "penstock.time.mapping=string"
"""Settings without which columns of some types are left out."""


class Reading(enum.StrEnum):
    """Ways in which Java reads a column: names of its enum ``Reading``; the last ones depend on settings."""

    BOOLEAN = "BOOLEAN"
    INT8 = "INT8"
    INT16 = "INT16"
    INT32 = "INT32"
    INT64 = "INT64"
    FLOAT32 = "FLOAT32"
    FLOAT64 = "FLOAT64"
    STRING = "STRING"
    BYTES = "BYTES"
    MONEY = "MONEY"
    BITS = "BITS"
    DATE = "DATE"
    TIME = "TIME"
    TIME_TEXT = "TIME_TEXT"
    DECIMAL = "DECIMAL"
    BOOLEANS = "BOOLEANS"
    INT16S = "INT16S"
    INT32S = "INT32S"
    INT64S = "INT64S"
    FLOAT32S = "FLOAT32S"
    FLOAT64S = "FLOAT64S"
    STRINGS = "STRINGS"
    NUMBER = "NUMBER"
    """By ``numeric.mapping``."""
    MOMENT = "MOMENT"
    """By ``timestamp.granularity``."""
    NONE = "NONE"
    """Left out."""


ALL_FIT = "every value fits"
REFUSED = "the task fails and names the column"


@dataclass(frozen=True, slots=True)
class SourceType:
    """Some types of a database that become the same field of Connect."""

    name: str
    """The types as the database's documentation names them."""
    reading: Reading
    schema: s.Schema
    """The field's, without what columns and settings add."""
    numbers: tuple[int, ...]
    """Numbers of ``java.sql.Types`` by which the driver reports them."""
    names: frozenset[str] = frozenset()
    """The driver's names of them, in lower case; empty: any."""
    unsigned: bool | None = None
    precisions: tuple[int, int] | None = None
    """The least and the greatest precision."""
    range: str = ""
    """The values that the field can hold; empty: all that the type has."""
    beyond: str = ALL_FIT
    """The outcome for other values."""
    needs: str = ""
    """The setting without which such columns are left out."""
    declared: tuple[str, ...] = ()
    """Columns of these types as tests declare them in a real database."""

    def takes(self, number: int, name: str, signed: bool, precision: int) -> bool:
        """Return whether a column that the driver describes so is of one of these types."""
        return (
            number in self.numbers
            and (not self.names or name.casefold() in self.names)
            and self.unsigned in (None, not signed)
            and (self.precisions is None or self.precisions[0] <= precision <= self.precisions[1])
        )
