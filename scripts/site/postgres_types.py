"""The types of PostgresSource, made from the table that the connector uses."""

from __future__ import annotations

from penstock.connectors.postgres.settings import PostgresSettings
from penstock.connectors.postgres.values.mappings import LEFT_OUT, MAPPINGS
from penstock.connectors.postgres.values.value_type import TypeMapping

_GIVEN = {"database.hostname": "db", "database.user": "u", "database.dbname": "shop", "topic.prefix": "shop"}


def sections() -> list[str]:
    settings = PostgresSettings.of(_GIVEN)
    rows = ["| column | with | field | values | others |", "|---|---|---|---|---|"]
    rows += [f"| {' | '.join(_cells(each, settings))} |" for each in MAPPINGS]
    rows += [
        "| domains | | the field of the domain's type | | |",
        "| enums | | `Enum` (STRING) | labels | |",
        "| arrays of these types | | `ARRAY` | arrays of one dimension; of types that are texts here, elements of "
        "several are texts of arrays | of other types, several dimensions: the task fails and names the column |",
        f"| {', '.join(name.upper() for name in LEFT_OUT)}, types of the catalog, composite types, types of extensions "
        "but CITEXT and LTREE | | left out, with a warning | | |",
    ]
    return [
        "## Changes of PostgreSQL",
        "What [PostgresSource](../how-to/postgres.md) makes of each type of a column, as Debezium does. Names such as "
        "`MicroTime` are those of Debezium's types. Tests declare a column of each type, and pass random and extreme "
        "values through a server.",
        "\n".join(rows),
    ]


def _cells(row: TypeMapping, settings: PostgresSettings) -> tuple[str, ...]:
    schema = row.of(row.modifiers[0] if row.modifiers else -1, settings).schema
    name = (schema.name or "").rpartition(".")[2]
    field = f"`{name}` ({schema.type.name})" if name else f"`{schema.type.name}`"
    chosen = f"`{row.setting}`: {', '.join(f'`{mode}`' for mode in row.modes)}" if row.setting else ""
    return row.name, chosen, field, row.range or ("" if row.beyond else "all"), row.beyond
