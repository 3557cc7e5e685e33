"""Settings of SparkSink with ``format=iceberg`` and a catalog of its own: those of Iceberg's sink for Kafka Connect.

Names, defaults and meanings are those of ``org.apache.iceberg.connect.IcebergSinkConnector`` and of its predecessor by
Tabular. What has no meaning here, or is not supported, is refused with a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from penstock.api.config import ConfigDef, with_prefix
from penstock.api.config_tables import define_table
from penstock.api.drift import DRIFT, SchemaDrift
from penstock.api.errors import ConfigError
from penstock.connectors.spark.iceberg_properties import (
    CATALOG_TYPES,
    problem_of_catalog_property,
    problem_of_table_property,
    problem_of_write_property,
)

ICEBERG = "iceberg"
CATALOG_NAME, CATALOG = "iceberg.catalog", "iceberg.catalog."
TABLES, TABLE = "iceberg.tables", "iceberg.table."
CREATES, EVOLVES = "iceberg.tables.auto-create-enabled", "iceberg.tables.evolve-schema-enabled"
CREATE_PROPS, WRITE_PROPS = "iceberg.tables.auto-create-props.", "iceberg.tables.write-props."
PREFIXES = (CATALOG, TABLE, CREATE_PROPS, WRITE_PROPS)
"""Beginnings of the settings that the user completes."""
PARTITION_BY, ID_COLUMNS, BRANCH, ROUTE_REGEX = "partition-by", "id-columns", "commit-branch", "route-regex"
_OF_TABLE = (PARTITION_BY, ID_COLUMNS, BRANCH)
"""The settings of one table, behind ``iceberg.table.<table>.``."""
_OF_CREATION = (
    "iceberg.tables.default-partition-by",
    "iceberg.tables.default-id-columns",
    "iceberg.tables.schema-force-optional",
)
_OF_CREATION_ENDS = (f".{PARTITION_BY}", f".{ID_COLUMNS}")

_DEFINITIONS = """
iceberg.catalog STRING MEDIUM iceberg
  The name of the Iceberg catalog. `iceberg.catalog.*` describe it.
iceberg.tables LIST HIGH
  The table to write to, as namespace and name: `shop.flights`.
iceberg.tables.auto-create-enabled BOOLEAN MEDIUM false
  Whether a table that does not exist is created.
iceberg.tables.evolve-schema-enabled BOOLEAN MEDIUM false
  Whether a table gets the fields of records that it lacks, wider types, and optional columns.
iceberg.tables.schema-force-optional BOOLEAN MEDIUM false
  Whether all columns that are created are optional; otherwise those of required fields are required.
iceberg.tables.schema-case-insensitive BOOLEAN MEDIUM false
  Whether the columns of fields are found without regard to upper and lower case.
iceberg.tables.default-partition-by STRING MEDIUM
  The partition fields of tables that are created, as `day(ts), bucket(id, 16), country`.
iceberg.tables.default-id-columns STRING MEDIUM
  The columns that identify a row of tables that are created. They are required.
iceberg.tables.default-commit-branch STRING MEDIUM
  The branch that commits go to; without it main.
"""


SETTINGS = tuple(line.split()[0] for line in _DEFINITIONS.splitlines() if line.startswith("iceberg."))


def define_iceberg(config: ConfigDef) -> ConfigDef:
    """Add the settings to those of a sink."""
    return define_table(config, _DEFINITIONS)


_LATER = {
    "iceberg.tables.dynamic-enabled": ("false",),
    "iceberg.tables.route-field": (),
    "iceberg.tables.upsert-mode-enabled": ("false",),
    "iceberg.tables.cdc-field": (),
}
"""Settings that are not supported, with the values at which they change nothing."""
_MEANINGLESS = {
    "iceberg.control.commit.interval-ms": "trigger.interval.ms is the time between two commits",
    "iceberg.control.": "the driver of the query commits, without a control topic",
    "iceberg.kafka.": "no control topic is used: consumer.override.* are the settings of the clients",
    "iceberg.coordinator": "the driver of the query commits, without a coordinator",
    "iceberg.connect.group-id": "consumer.override.group.id names the group",
    "iceberg.hadoop": "files are read and written without Hadoop: give the store's own settings as iceberg.catalog.*",
}
"""Settings of Iceberg's sink that have no meaning here, by their beginnings, with the reason."""
_URI_OF_SQL = re.compile(r"(?:sqlite|postgresql(?:\+psycopg2)?)://")

_COLUMN = r"[^\s(),][^(),]*?"
_TRANSFORMS = re.compile(
    rf"(?P<identity>{_COLUMN})"
    rf"|(?P<time>years?|months?|days?|hours?)\(\s*(?P<of>{_COLUMN})\s*\)"
    rf"|(?P<sized>bucket|truncate)\(\s*(?P<in>{_COLUMN})\s*,\s*(?P<size>[1-9]\d*)\s*\)"
)
_BETWEEN = re.compile(r",(?![^()]*\))")


@dataclass(frozen=True, slots=True)
class PartitionTerm:
    """One field of a partition: a transform of a column."""

    transform: str
    """identity, year, month, day, hour, bucket or truncate."""
    column: str
    size: int = 0
    """The number of buckets, or the width of what is left."""

    @property
    def field_name(self) -> str:
        """The name of the partition field, as Iceberg's sink gives it."""
        suffix = {"identity": "", "truncate": "_trunc"}.get(self.transform, f"_{self.transform}")
        return self.column.replace(".", "_") + suffix


def partition_terms(text: str) -> tuple[PartitionTerm, ...]:
    """Read a list of partition fields. Raises ValueError, with the part that is none."""
    found = []
    for part in filter(None, map(str.strip, _BETWEEN.split(text))):
        match = _TRANSFORMS.fullmatch(part)
        if match is None:
            raise ValueError(part)
        if match["identity"]:
            found.append(PartitionTerm("identity", match["identity"]))
        elif match["time"]:
            found.append(PartitionTerm(match["time"].removesuffix("s"), match["of"]))
        else:
            found.append(PartitionTerm(match["sized"], match["in"], int(match["size"])))
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergSettings:
    """The settings of one sink to an Iceberg table."""

    catalog_name: str
    catalog: Mapping[str, str]
    """pyiceberg's properties of the catalog; they may hold secrets."""
    table: str
    creates: bool
    evolves: bool
    force_optional: bool
    ignores_case: bool
    partition_by: tuple[PartitionTerm, ...]
    id_columns: tuple[str, ...]
    branch: str
    branch_setting: str
    """The name of the setting that names the branch."""
    create_properties: Mapping[str, str]
    write_properties: Mapping[str, str]

    @classmethod
    def of(cls, config: Mapping[str, str], values: Mapping[str, object]) -> Self | None:
        """Return the settings, ``values`` being those that are parsed; None if the sink has no catalog of its own.

        Raises ConfigError.
        """
        if not has_catalog(config):
            return None
        for name, sentence in iceberg_problems(config):
            raise ConfigError(name, config.get(name), sentence)
        (table,) = _listed(config.get(TABLES))
        own = with_prefix(config, f"{TABLE}{table}.")

        own_branch, default_branch = f"{TABLE}{table}.{BRANCH}", "iceberg.tables.default-commit-branch"

        def of_table(name: str, default: str) -> str:
            return (own.get(name) or config.get(default) or "").strip()

        return cls(
            catalog_name=str(values[CATALOG_NAME]).strip(),
            catalog={name: value.strip() for name, value in with_prefix(config, CATALOG).items()},
            table=table,
            creates=bool(values[CREATES]),
            evolves=bool(values[EVOLVES]),
            force_optional=bool(values["iceberg.tables.schema-force-optional"]),
            ignores_case=bool(values["iceberg.tables.schema-case-insensitive"]),
            partition_by=partition_terms(of_table(PARTITION_BY, "iceberg.tables.default-partition-by")),
            id_columns=tuple(_listed(of_table(ID_COLUMNS, "iceberg.tables.default-id-columns"))),
            branch=of_table(BRANCH, default_branch) or "main",
            branch_setting=own_branch if own.get(BRANCH) else default_branch,
            create_properties=with_prefix(config, CREATE_PROPS),
            write_properties=with_prefix(config, WRITE_PROPS),
        )


def has_catalog(config: Mapping[str, str | None]) -> bool:
    """Whether a sink has an Iceberg catalog of its own, and does not write through one of Spark's."""
    return any(name.startswith(CATALOG) for name in config)


def drift_of_iceberg(config: Mapping[str, str], evolves: bool) -> SchemaDrift:
    """Return the handling of fields that a table lacks. Without ``schema.drift`` they are added or left out."""
    given = (config.get(DRIFT) or "").strip()
    if given:
        return SchemaDrift(given)
    return SchemaDrift.EVOLVE if evolves else SchemaDrift.IGNORE


def _listed(text: str | None) -> list[str]:
    return [part for each in (text or "").split(",") if (part := each.strip())]


def _on(config: Mapping[str, str], name: str) -> bool:
    return (config.get(name) or "").strip().casefold() == "true"


def iceberg_problems(config: Mapping[str, str]) -> list[tuple[str, str]]:
    """Find the problems of a sink with an Iceberg catalog; return pairs of the setting at fault and a sentence."""
    return [
        *_problems_of_others(config),
        *_problems_of_catalog(with_prefix(config, CATALOG)),
        *_problems_of_tables(config),
        *_problems_of_properties(config),
    ]


def _problems_of_others(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield settings of sinks through Spark's catalogs, and of Iceberg's sink, that have no effect."""
    idle = {
        "path": f"{TABLES} names the table of the catalog",
        "table": f"{TABLES} names the table of the catalog; without {CATALOG}* table= is one of Spark's catalogs",
        "partition.by": "set iceberg.tables.default-partition-by",
        "schema.evolution": f"set {EVOLVES}, or {DRIFT}",
        "pk.fields": "set iceberg.tables.default-id-columns",
    }
    for name, instead in idle.items():
        if (config.get(name) or "").strip():
            yield name, f"has no effect with {CATALOG}*: {instead}"
    for name, usual in (("mode", "append"), ("insert.mode", "insert"), ("pk.mode", "none")):
        given = (config.get(name) or "").strip()
        if given not in ("", usual):
            yield name, f"{name}={given} is not supported with {CATALOG}*: rows are added to the table"
    for name in config:
        if name.startswith("option."):
            yield name, f"has no effect with {CATALOG}*: set {WRITE_PROPS}* or {CREATE_PROPS}*"
        elif reason := next((why for start, why in _MEANINGLESS.items() if name.startswith(start)), None):
            yield name, f"has no meaning here: {reason}. Leave it out"
    known = {*SETTINGS, *_LATER}
    for name in config:
        if name.startswith("iceberg.") and name not in known and not name.startswith((*PREFIXES, *_MEANINGLESS)):
            yield name, f"is no setting of a sink to Iceberg: those are {', '.join(SETTINGS)}, and {_prefixes()}"
    for name, harmless in _LATER.items():
        given = (config.get(name) or "").strip()
        if given and given.casefold() not in harmless:
            yield name, f"{name}={given} is not supported yet: a sink adds the rows of its topics to one table"
    given, evolves = (config.get(DRIFT) or "").strip(), _on(config, EVOLVES)
    if given and given in set(SchemaDrift) and evolves is not (given == SchemaDrift.EVOLVE) and config.get(EVOLVES):
        yield DRIFT, f"{DRIFT}={given} and {EVOLVES}={config[EVOLVES]} contradict each other: leave one of them out"


def _prefixes() -> str:
    return ", ".join(f"{each}*" for each in PREFIXES)


def _problems_of_catalog(catalog: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in catalog.items():
        if (problem := problem_of_catalog_property(name, value)) is not None:
            yield CATALOG + name, problem
    kind, uri = (catalog.get("type") or "").strip().casefold(), (catalog.get("uri") or "").strip()
    if not kind and "catalog-impl" not in catalog:
        yield f"{CATALOG}type", f"is missing: it is one of {', '.join(CATALOG_TYPES)}"
    elif kind and kind not in CATALOG_TYPES:
        yield f"{CATALOG}type", f"{kind} is not supported: it is one of {', '.join(CATALOG_TYPES)}"
    elif kind != "glue" and kind and not uri:
        yield f"{CATALOG}uri", f"is missing: {CATALOG}type={kind} needs the address of the catalog"
    elif kind == "sql" and not _URI_OF_SQL.match(uri):
        yield (
            f"{CATALOG}uri",
            "has to begin with sqlite:// or postgresql:// for type=sql, as sqlite:////data/catalog.db",
        )


def _problems_of_tables(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    tables = _listed(config.get(TABLES))
    if not tables:
        yield TABLES, "is missing: name the table, as namespace and name, for example shop.flights"
    elif len(tables) > 1:
        yield TABLES, f"names {len(tables)} tables, which is not supported yet: make a connector for each"
    elif not all(tables[0].split(".")) or "." not in tables[0]:
        yield TABLES, f"{tables[0]} has to be a namespace and a name with a dot between them, as shop.flights"
    known = [f"{TABLE}{table}." for table in tables]
    for name, value in config.items():
        if not name.startswith(TABLE):
            continue
        start = next((each for each in known if name.startswith(each)), None)
        if start is None:
            yield name, f"is of no table that {TABLES} names"
        elif (rest := name.removeprefix(start)) == ROUTE_REGEX:
            yield name, "is not supported yet: a sink adds the rows of its topics to one table"
        elif rest not in _OF_TABLE:
            yield name, f"is no setting of a table: those are {', '.join(_OF_TABLE)}"
        elif rest == PARTITION_BY:
            yield from _problem_of_partition(name, value)
    yield from _problem_of_partition(
        "iceberg.tables.default-partition-by", config.get("iceberg.tables.default-partition-by")
    )


def _are_times(*terms: PartitionTerm) -> bool:
    return all(each.transform in ("year", "month", "day", "hour") for each in terms)


def _problem_of_partition(name: str, value: str | None) -> Iterator[tuple[str, str]]:
    try:
        terms = partition_terms(value or "")
        for place, term in enumerate(terms):
            if same := [each for each in terms[:place] if each.field_name == term.field_name]:
                yield name, f"has two partition fields of the name {term.field_name}: leave one out"
            elif same := [each for each in terms[:place] if each.column == term.column and _are_times(each, term)]:
                yield name, f"{same[0].transform} and {term.transform} are both of {term.column}: leave one out"
    except ValueError as error:
        yield (
            name,
            f"{error} is no partition field: write a column, or year(column), month(column), day(column), "
            "hour(column), bucket(column, number), truncate(column, width)",
        )


def _problems_of_properties(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in with_prefix(config, WRITE_PROPS).items():
        if (problem := problem_of_write_property(name, value)) is not None:
            yield WRITE_PROPS + name, problem
    for name, value in with_prefix(config, CREATE_PROPS).items():
        if (problem := problem_of_table_property(name, value)) is not None:
            yield CREATE_PROPS + name, problem
    if _on(config, CREATES):
        return
    for name in config:
        of_table = name.startswith(TABLE) and name.endswith(_OF_CREATION_ENDS)
        idle = name in _OF_CREATION or name.startswith(CREATE_PROPS) or of_table
        if idle and (config[name] or "").strip().casefold() not in ("", "false"):
            yield name, f"has no effect without {CREATES}=true"
