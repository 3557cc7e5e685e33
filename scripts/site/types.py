"""The page of all mappings of types, made from the tables that the code uses."""

from __future__ import annotations


def page(*sections: list[str]) -> str:
    parts = [
        "# Types",
        "How values of each type are mapped between Connect and databases, formats, tables and other tools. The code "
        "uses these tables. A value that its target can't hold is never cut, rounded, wrapped or made null, except "
        "where this page says so: it is refused by an error that names its column or field, with which the task fails, "
        "or the record becomes a [dead letter](../dead-letters.md).",
        "`Time` and `Timestamp` of Connect end at the millisecond: converters and JdbcSink leave out further digits, "
        "which values in Python may have. A moment without a zone is in UTC; a time of day with a zone is refused.",
    ]
    return "\n\n".join([*parts, *(text for section in sections for text in section)]) + "\n"
