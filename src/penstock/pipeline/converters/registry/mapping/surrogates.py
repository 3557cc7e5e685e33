"""Texts with halves of surrogate pairs, which UTF-8 does not have: Java writes question marks for them."""

from __future__ import annotations

from typing import Any

from penstock.api.columns import Table


def is_about_surrogates(error: BaseException | None) -> bool:
    """Whether a text that UTF-8 does not have is behind this error."""
    while error is not None:
        if isinstance(error, UnicodeEncodeError):
            return True
        error = error.__cause__ or error.__context__
    return False


def without_surrogates(value: Any) -> Any:
    """The value with its texts as Java encodes them: pairs are the characters that they stand for."""
    match value:
        case str():
            pairs = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
            return pairs.encode("utf-8", "replace").decode()
        case Table():
            return Table(value.names, [without_surrogates(list(column)) for column in value.columns])
        case dict():
            return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
        case list() | tuple():
            return [without_surrogates(item) for item in value]
    return value
