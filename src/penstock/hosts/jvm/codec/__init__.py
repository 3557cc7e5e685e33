"""Columns of Connect's values as bytes, for both directions of a session; Java: ``ColumnWriter``, ``ColumnReader``.

A column is a tag, its length, which of its values are null, and those that are not, by kind. Structs, maps and arrays
are columns again. Values of several kinds are a column for each kind, and for each row the number of its kind.
"""
