"""Contents of a table in a Hadoop catalogue of Iceberg."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import fastavro
import pyarrow.parquet as pq

_DELETED = 2


def rows(table: Path) -> list[dict[str, Any]]:
    """Return the rows of the current snapshot from its data files."""
    return [row for file in files(table) for row in pq.read_table(file).to_pylist()]


def files(table: Path) -> dict[Path, int]:
    """Return the data files that the manifests of the current snapshot list, and the number of their rows."""
    metadata = _metadata(table)
    current = metadata.get("current-snapshot-id")
    snapshots = {each["snapshot-id"]: each for each in metadata.get("snapshots", ())}
    if current not in snapshots:
        return {}
    found = {}
    for manifest in _avro(snapshots[current]["manifest-list"]):
        for entry in _avro(manifest["manifest_path"]):
            if entry["status"] != _DELETED:
                file = entry["data_file"]
                found[_path_of(file["file_path"])] = int(file["record_count"])
    return found


def _avro(file: str) -> list[Any]:
    with _path_of(file).open("rb") as stream:
        return list(fastavro.reader(stream))


def _path_of(address: str) -> Path:
    return Path(urlsplit(address).path)


def columns(table: Path) -> list[tuple[str, Any, bool]]:
    """Return name, type and required flag of each column of the current schema."""
    metadata = _metadata(table)
    (schema,) = (each for each in metadata["schemas"] if each["schema-id"] == metadata["current-schema-id"])
    return [(field["name"], field["type"], field["required"]) for field in schema["fields"]]


def _metadata(table: Path) -> dict[str, Any]:
    try:
        version = (table / "metadata" / "version-hint.text").read_text().strip()
    except FileNotFoundError:
        return {}  # the Hadoop catalogue removes the file for a moment before it writes a new one
    found: dict[str, Any] = json.loads((table / "metadata" / f"v{version}.metadata.json").read_text())
    return found
