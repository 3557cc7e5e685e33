"""The catalog of a sink, and its one table: found, created, and given the columns that it lacks."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from typing import Any

from penstock.api.drift import SchemaDrift
from penstock.api.errors import ConfigError, ConnectError
from penstock.connectors.spark.iceberg_settings import CATALOG, CREATES, EVOLVES, IcebergSettings

try:
    from pyiceberg.catalog import AVAILABLE_CATALOGS, CatalogType
    from pyiceberg.exceptions import (
        CommitFailedException,
        ForbiddenError,
        NamespaceAlreadyExistsError,
        NoSuchNamespaceError,
        NoSuchTableError,
        NotInstalledError,
        TableAlreadyExistsError,
        ValidationError,
    )
    from pyiceberg.table.refs import SnapshotRefType
    from pyiceberg.table.update import AssertTableUUID
except ImportError as error:
    raise ConnectError(
        f"format=iceberg with {CATALOG}* needs the extra `iceberg`: pip install 'penstock[iceberg]' ({error})"
    ) from error

from pyspark.sql import types as t

from penstock.spark.query.iceberg.file_io import load_no_classes
from penstock.spark.query.iceberg.types import iceberg_type, partition_spec, schema_of, spark_columns
from penstock.spark.query.sink.rows.columns import nullable
from penstock.spark.query.sink.rows.drift import Drift, drift

log = logging.getLogger(__name__)

ATTEMPTS = 10
"""Attempts to change a schema that others change, too."""
FORMAT_VERSION = 2


class IcebergTable:
    """The table of a sink in its catalog; its methods are called by one thread at a time."""

    def __init__(self, settings: IcebergSettings, drift: SchemaDrift) -> None:
        self._settings, self._drift = settings, drift
        self._catalog: Any = None

    @property
    def name(self) -> str:
        return self._settings.table

    def catalog(self) -> Any:
        """Return the catalog. Raises ConnectError for one that can't be used, and its errors if it does not answer."""
        if self._catalog is None:
            try:
                # Not by pyiceberg's load_catalog, which adds properties of the worker's own files and environment: a
                # connector could have them sent to a server of its choice.
                load = AVAILABLE_CATALOGS[CatalogType(self._settings.catalog["type"].casefold())]
                catalog = load(self._settings.catalog_name, dict(self._settings.catalog))
                load_no_classes(catalog)
                self._catalog = catalog
            except NotInstalledError as error:
                raise ConnectError(f"{CATALOG}type={self._settings.catalog['type']}: {error}") from error
            except (ValueError, TypeError) as error:
                raise ConfigError(f"{CATALOG}type", self._settings.catalog["type"], str(error)) from error
        return self._catalog

    def find(self) -> Any:
        """Return pyiceberg's table as it is now, or None if there is none."""
        try:
            return self._usable(self.catalog().load_table(self.name))
        except NoSuchTableError:
            return None

    def load(self) -> Any:
        """Return pyiceberg's table as it is now. Raises ConnectError if there is none."""
        if (table := self.find()) is None:
            raise ConnectError(
                f"There is no table {self.name} in the catalog {self._settings.catalog_name}: create it, or set "
                f"{CREATES}=true"
            )
        return table

    def _usable(self, table: Any) -> Any:
        """Raises ConnectError for a table that is not written to as it asks for."""
        metadata = table.metadata
        if (version := metadata.format_version) != FORMAT_VERSION:
            instead = "upgrade it to version 2" if version < FORMAT_VERSION else "write to a table of version 2"
            raise ConnectError(f"{self.name} is of format version {version}, which pyiceberg can't write: {instead}")
        ref = metadata.refs.get(self._settings.branch)
        if ref is not None and ref.snapshot_ref_type != SnapshotRefType.BRANCH:
            raise ConfigError(
                self._settings.branch_setting,
                self._settings.branch,
                f"is a tag of {self.name}, to which nothing can be committed: name a branch",
            )
        properties = {**metadata.properties, **self._settings.write_properties}
        if (format := properties.get("write.format.default", "parquet").casefold()) != "parquet":
            raise ConnectError(f"{self.name} has write.format.default={format}, and files are written as parquet only")
        if "write.py-location-provider.impl" in properties:
            raise ConnectError(f"{self.name} names a class by write.py-location-provider.impl, which is not loaded")
        return table

    def columns(self, table: Any) -> t.StructType:
        """Return the table's columns as Spark's types."""
        return spark_columns(table.schema())

    def prepared(self, columns: t.StructType, found: Any = None) -> Any:
        """Return the table for records of these columns; create it, or change it as ``schema.drift`` says.

        ``found``: the table as it was found just now, if it was.

        Raises ConnectError if it lacks columns that it must not get, or if the types contradict each other.
        """
        table = found or self.find()
        if table is None:
            table = self._create(columns) if self._settings.creates else self.load()
        for pause in _pauses():
            differing = drift(columns, self.columns(table), ignores_case=self._settings.ignores_case)
            identifiers = table.schema().identifier_field_names()
            differing.optional = [path for path in differing.optional if ".".join(path) not in identifiers]
            self._check(differing)
            if self._drift is not SchemaDrift.EVOLVE or not differing.changes:
                return table
            table = self._evolve(table, differing)
            time.sleep(pause)
        raise CommitFailedException(f"The columns of {self.name} could not be changed in {ATTEMPTS} attempts")

    def _check(self, found: Drift) -> None:
        if self._drift is SchemaDrift.DEAD_LETTER:  # records are looked at one by one
            return
        refused = found.misfits or (
            []
            if self._drift is SchemaDrift.EVOLVE
            else [f"{'.'.join(p)} is {k.simpleString()}" for p, k in found.wider]
        )
        if refused:
            raise ConnectError(
                f"Records do not fit {self.name}: {'; '.join(refused)}. Change the column, or the records by a "
                f"transform; {EVOLVES}=true widens numbers"
            )
        if found.new and self._drift is SchemaDrift.STOP:
            names = ", ".join(".".join(path) for path, _ in found.new)
            raise ConnectError(
                f"{names}: not among the columns of {self.name}, and schema.drift=stop. Add them to the table, leave "
                f"them out by a transform, or set {EVOLVES}=true"
            )

    def _create(self, columns: t.StructType) -> Any:
        settings = self._settings
        shown = nullable(columns) if settings.force_optional else columns
        assert isinstance(shown, t.StructType)
        schema = schema_of(shown, settings.id_columns)
        spec = partition_spec(schema, settings.partition_by)
        catalog = self.catalog()
        parts = self.name.split(".")[:-1]
        for depth in range(1, len(parts) + 1):
            with suppress(NamespaceAlreadyExistsError, ForbiddenError):
                catalog.create_namespace(tuple(parts[:depth]))
        try:
            table = catalog.create_table(
                self.name, schema, partition_spec=spec, properties=dict(settings.create_properties)
            )
            log.info("Created the table %s in the catalog %s", self.name, settings.catalog_name)
            return self._usable(table)
        except TableAlreadyExistsError:
            return self.load()
        except NoSuchNamespaceError as error:
            raise ConnectError(f"The namespace of {self.name} can't be created: {error}") from error
        except ValueError as error:
            if "No default path" in str(error):
                raise ConfigError(
                    f"{CATALOG}warehouse",
                    None,
                    f"is missing, and the namespace of {self.name} has no location: name the folder of new tables",
                ) from error
            raise ConnectError(f"{self.name} can't be created: {error}") from error

    def _evolve(self, table: Any, found: Drift) -> Any:
        """Send one change of the schema; return the table as it is then, changed or not."""
        transaction = table.transaction()
        try:
            with transaction.update_schema() as update:
                for path, field in found.new:
                    kind = iceberg_type(nullable(field.dataType), count(1), ".".join(path))
                    update.add_column(path, kind)
                for path, wider in found.wider:
                    update.update_column(path, field_type=iceberg_type(wider, count(1), ".".join(path)))
                for path in found.optional:
                    update.make_column_optional(path)
        except (ValueError, ValidationError) as error:
            raise ConnectError(f"The columns of {self.name} can't be changed for the records: {error}") from error
        requirements = (AssertTableUUID(uuid=table.metadata.table_uuid), *transaction._requirements)
        names = [".".join(path) for path in (*(p for p, _ in found.new), *(p for p, _ in found.wider), *found.optional)]
        try:
            table.catalog.commit_table(table, requirements, transaction._updates)
            log.info("Changed the columns of %s: %s", self.name, ", ".join(names))
        except CommitFailedException:
            log.info("Others have changed %s; its columns are looked at again", self.name)
        return self.load()


def _pauses() -> Iterator[float]:
    for attempt in range(ATTEMPTS):
        yield 0.0 if not attempt else min(0.05 * 2**attempt, 5.0) * random.uniform(0.5, 1.0)
