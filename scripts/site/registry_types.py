"""The types of Avro, Protobuf and JSON Schema, made from the table that the converters are made from."""

from __future__ import annotations

from penstock.pipeline.converters.registry.mapping.type_table import FORMATS, TypeRow


def sections() -> list[str]:
    parts = [
        "## Formats of the Schema Registry",
        "What the converters for Avro, Protobuf and JSON Schema make of each type, and of Connect's. A number outside "
        "of the range is an error of its record that names the field; with `penstock.coercion=java` of the converter "
        "it is changed as Java's converter changes it, where Java's accepts it. Structs, arrays, maps, unions and "
        "enums are made of these types.",
    ]
    for format, rows in FORMATS.items():
        lines = [f"| {format} | with | Connect | | range | left out |", "|---|---|---|---|---|---|"]
        lines += [f"| {' | '.join(cells(row))} |" for row in rows]
        parts += [f"### {format}", "\n".join(lines)]
    return parts


def cells(row: TypeRow) -> tuple[str, ...]:
    """Return the cells of a row of the table."""
    connect = row.type.value if row.logical is None else f"{row.logical.rpartition('.')[2]} ({row.type.value})"
    mark = "" if row.mark is None else "=".join(row.mark)
    both = "read and written" if row.written else "read; written where the schema says so"
    bounds = "" if row.bounds is None else "{} to {}".format(*row.bounds)
    return f"`{row.foreign}`", f"`{mark}`" if mark else "", f"`{connect}`", both, bounds, row.loses
