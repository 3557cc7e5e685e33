"""Tags of the columns; the same numbers as in ``Tag.java``."""

from __future__ import annotations

NULLS = 0
INT8, INT16, INT32, INT64 = 1, 2, 3, 4
FLOAT32, FLOAT64 = 5, 6
BOOLEAN = 7
STRING = 8
BYTES = 9
ARRAY = 10
MAP = 11
STRUCT = 12
DECIMAL = 13
DATE = 14
MIXED = 20
REPEATED = 21
"""A text or integer that all rows have: a column of one row follows."""
SEQUENCE = 22
"""INT64, each one more than the one before: the first follows. Written here only."""

NUMBERS = {INT8: "b", INT16: "h", INT32: "i", INT64: "q", FLOAT32: "f", FLOAT64: "d", DATE: "q"}
"""The formats of ``struct`` and ``array``."""
MAX_SMALL = 255
"""Maximum number of kinds whose numbers have one byte."""
