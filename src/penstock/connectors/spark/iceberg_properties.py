"""Properties that settings of a sink hand to pyiceberg: those of its catalogs, of tables and of the writer of files."""

from __future__ import annotations

import re

CATALOG_TYPES = ("rest", "sql", "hive", "glue")
_OF_JAVA = {
    "catalog-impl": f"names a class of Java: set iceberg.catalog.type={'|'.join(CATALOG_TYPES)}",
    "io-impl": "names a class of Java: leave it out, the scheme of the warehouse says how files are written",
}
_CLASSES = re.compile(r".*[-.]impl|botocore.session", re.IGNORECASE)
"""Properties that name classes of Python."""
_OF_CATALOGS = (
    *("type", "uri", "warehouse", "credential", "token", "scope", "audience", "resource", "prefix"),
    *("oauth2-server-uri", "snapshot-loading-mode", "scan-planning-mode", "rest-page-size", "namespace-separator"),
    *("view-endpoints-supported", "echo", "pool_pre_ping", "init_catalog_tables", "schema_version", "ugi"),
    *("lock-check-min-wait-time", "lock-check-max-wait-time", "lock-check-retries", "buffer-size"),
)
_OF_STORES = ("s3.", "adls.", "gcs.", "hdfs.", "hf.", "client.", "glue.", "hive.", "rest.", "header.")

_PARQUET = "write.parquet."
WRITE_PROPERTIES = (
    "write.target-file-size-bytes",
    f"{_PARQUET}compression-codec",
    f"{_PARQUET}compression-level",
    f"{_PARQUET}row-group-size-bytes",
    f"{_PARQUET}page-size-bytes",
    f"{_PARQUET}page-row-limit",
    f"{_PARQUET}dict-size-bytes",
    "write.metadata.metrics.default",
    "write.data.path",
    "write.object-storage.enabled",
    "write.object-storage.partitioned-paths",
    "write.format.default",
)
"""The properties that the writer of files knows; and ``write.metadata.metrics.column.*``."""
MAX_ROW_GROUP = 64 << 20
"""Bytes of the largest row group: the rows that one process of Spark has in memory."""
_METRICS_OF_COLUMN = "write.metadata.metrics.column."
_NUMBER = re.compile(r"0*[1-9]\d*", re.ASCII)
_BYTES = (_NUMBER, "a number of bytes above 0")
_METRICS = (
    re.compile(r"none|counts|full|truncate\([1-9]\d*\)", re.IGNORECASE | re.ASCII),
    "none, counts, truncate(16) or full",
)
_FLAG = (re.compile(r"true|false", re.IGNORECASE), "true or false")
_VALUES = {
    "write.target-file-size-bytes": _BYTES,
    f"{_PARQUET}row-group-size-bytes": _BYTES,
    f"{_PARQUET}page-size-bytes": _BYTES,
    f"{_PARQUET}dict-size-bytes": _BYTES,
    f"{_PARQUET}page-row-limit": (_NUMBER, "a number above 0"),
    f"{_PARQUET}compression-level": (re.compile(r"-?\d+", re.ASCII), "a whole number"),
    f"{_PARQUET}compression-codec": (
        re.compile(r"(?i:zstd|gzip|snappy|lz4|brotli)|uncompressed"),
        "zstd, gzip, snappy, lz4, brotli or uncompressed",
    ),
    "write.metadata.metrics.default": _METRICS,
    "write.object-storage.enabled": _FLAG,
    "write.object-storage.partitioned-paths": _FLAG,
}
"""The values of properties, and a description of them."""


def names_class(property: str) -> bool:
    """Whether pyiceberg would load the class that a property of this name has as its value."""
    return _CLASSES.fullmatch(property) is not None


def problem_of_catalog_property(name: str, value: str) -> str | None:
    if name in _OF_JAVA:
        return _OF_JAVA[name]
    if names_class(name):
        return "names a class that would be loaded, which connectors may not: leave it out"
    if not value.strip():
        return "is empty: give it a value, or leave it out"
    if name not in _OF_CATALOGS and not name.startswith(_OF_STORES):
        known = ", ".join((*_OF_CATALOGS, *(f"{each}*" for each in _OF_STORES)))
        return f"is no property of catalogs that pyiceberg has; those are {known}"
    return None


def problem_of_write_property(name: str, value: str) -> str | None:
    if name not in WRITE_PROPERTIES and not name.startswith(_METRICS_OF_COLUMN):
        known = ", ".join((*WRITE_PROPERTIES, f"{_METRICS_OF_COLUMN}*"))
        return f"is no property that the writer knows; it knows {known}"
    if (problem := _problem_of_value(name, value)) is not None:
        return problem
    if name == f"{_PARQUET}row-group-size-bytes" and int(value) > MAX_ROW_GROUP:
        return f"{value.strip()} is more than the writer has in memory: set at most {MAX_ROW_GROUP}"
    return None


def problem_of_table_property(name: str, value: str) -> str | None:
    """Return the problem of a property of a table that is to be created."""
    if names_class(name):
        return "names a class that would be loaded, which connectors may not: leave it out"
    if name == "format-version" and value.strip() != "2":
        return f"{value.strip()} is not supported: tables are created in version 2"
    return _problem_of_value(name, value)


def _problem_of_value(name: str, value: str) -> str | None:
    given = value.strip()
    if name == "write.format.default" and given.casefold() != "parquet":
        return f"{given} is not supported: files are written as parquet"
    pattern, right = _METRICS if name.startswith(_METRICS_OF_COLUMN) else _VALUES.get(name, (None, ""))
    if pattern is not None and not pattern.fullmatch(given):
        return f"{given} has to be {right}"
    return None
