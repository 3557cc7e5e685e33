"""Properties of the library that reads and writes the files of a table, among those of its catalog and the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.connectors.spark.iceberg_properties import names_class

_BEGINNINGS = ("s3.", "adls.", "gcs.", "hdfs.", "hf.", "client.")
_NAMES = ("buffer-size", "DEFAULT_SCHEME", "DEFAULT_NETLOC")


def file_io_properties(properties: Mapping[str, Any]) -> dict[str, str]:
    """Return the properties of the stores of files, without those of the catalog, such as its address and credential.

    None of them names a class.
    """
    return {
        name: str(value)
        for name, value in without_classes(properties).items()
        if name.startswith(_BEGINNINGS) or name in _NAMES
    }


def without_classes(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties without those that would have a class loaded."""
    return {name: value for name, value in properties.items() if not names_class(name)}


def load_no_classes(catalog: Any) -> None:
    """Keep a catalog from loading classes that its server or the properties of a table name."""
    catalog.properties = without_classes(catalog.properties)
    load = catalog._load_file_io

    def load_file_io(properties: Mapping[str, Any] = {}, location: str | None = None) -> Any:
        return load(without_classes(properties), location)

    catalog._load_file_io = load_file_io
