"""Options of Spark's writers that keep values unchanged in text files. Options of the connector override them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.spark.query.sink.orc import check_zone

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TIMES = {
    # Spark's own patterns end with milliseconds.
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "csv": {**_TIMES, "ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"},
    "json": _TIMES,
    "xml": _TIMES,
}


def writer_options(frame: DataFrame, format: str) -> dict[str, str]:
    """Return the options of a writer of these rows. Raises ConnectError as ``check_zone`` does."""
    check_zone(frame, format)
    return dict(_OPTIONS.get(format, {}))
