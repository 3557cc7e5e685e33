"""Columns of tables that records make or change: added, widened and made optional, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import types as t

from penstock.api.drift import SchemaDrift
from penstock.api.errors import ConnectError
from penstock.spark.query.iceberg.catalog import IcebergTable
from penstock.spark.query.sink.rows.drift import drift
from spark.query.iceberg import lake


def created(place: Path, columns: t.StructType = lake.COLUMNS, **more: str) -> Any:
    return IcebergTable(lake.settings(place, **more), SchemaDrift.EVOLVE).prepared(columns)


def test_id_columns_identify_rows_of_a_table_that_is_created(tmp_path: Path) -> None:
    own = created(
        tmp_path, **{"iceberg.tables.default-id-columns": "id", "iceberg.tables.schema-force-optional": "true"}
    )
    assert own.schema().identifier_field_names() == {"id"}
    assert own.schema().find_field("id").required
    with pytest.raises(ConnectError, match="other: among the id columns of the table, but no field"):
        created(tmp_path, **{"iceberg.tables.default-id-columns": "other", "iceberg.tables": "shop.other"})


def test_a_partition_field_that_can_not_be_computed_creates_no_table(tmp_path: Path) -> None:
    for by, said in (("day(name)", "day can't be computed of name"), ("bucket(no, 3)", "no, which is no field")):
        with pytest.raises(ConnectError, match=said):
            created(tmp_path, **{"iceberg.tables.default-partition-by": by})
    assert not lake.catalog(tmp_path).table_exists(lake.NAME)


def test_a_partition_field_of_the_name_of_a_column_creates_no_table(tmp_path: Path) -> None:
    columns = lake.fields(name=t.StringType(), name_trunc=t.StringType())
    with pytest.raises(ConnectError, match=r"truncate\(name\) is called name_trunc, as a column"):
        created(tmp_path, columns, **{"iceberg.tables.default-partition-by": "truncate(name, 2)"})
    assert not lake.catalog(tmp_path).table_exists(lake.NAME)


@pytest.mark.parametrize(
    "kind", [t.StructType(), t.ArrayType(t.StructType()), lake.fields(inner=t.StructType())], ids=str
)
def test_a_struct_without_fields_creates_no_table_and_no_column(tmp_path: Path, kind: t.DataType) -> None:
    with pytest.raises(ConnectError, match=r"Column empty.* is a struct without fields.*ReplaceField"):
        created(tmp_path, lake.fields(id=t.LongType(), empty=kind))
    assert not lake.catalog(tmp_path).table_exists(lake.NAME)
    created(tmp_path, lake.fields(id=t.LongType()))
    with pytest.raises(ConnectError, match=r"Column empty.* is a struct without fields"):
        created(tmp_path, lake.fields(id=t.LongType(), empty=kind))


def test_names_that_mean_two_columns_are_refused_without_speaking_of_id_columns(tmp_path: Path) -> None:
    columns = t.StructType([t.StructField("a.b", t.LongType()), t.StructField("a", lake.fields(b=t.LongType()))])
    with pytest.raises(ConnectError, match=r"can't be the columns of one table.*a\.b"):
        created(tmp_path, columns)


def test_tables_are_created_only_if_wanted(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match=r"There is no table shop.flights.*auto-create-enabled=true"):
        created(tmp_path, **{"iceberg.tables.auto-create-enabled": "false"})


def evolved(place: Path, before: t.StructType, then: t.StructType, mode: SchemaDrift, **more: str) -> str:
    """Bring a table of some columns and records of others together, and return its schema."""
    IcebergTable(lake.settings(place), SchemaDrift.EVOLVE).prepared(before)
    found = IcebergTable(lake.settings(place, **more), mode).prepared(then)
    assert found.schema() == lake.catalog(place).load_table(lake.NAME).schema()
    return " ".join(str(each) for each in found.schema().fields)


def test_columns_are_added_widened_and_made_optional_at_every_depth(tmp_path: Path) -> None:
    required = t.StructType([t.StructField("n", t.IntegerType(), nullable=False)])
    before = lake.fields(i=t.IntegerType(), f=t.FloatType(), d=t.DecimalType(5, 2), s=required, l=t.ArrayType(required))
    deep = lake.fields(n=t.LongType(), more=t.ArrayType(lake.fields(x=t.DateType())))
    then = lake.fields(
        i=t.LongType(), f=t.DoubleType(), d=t.DecimalType(9, 2), s=deep, l=t.ArrayType(deep), new=t.DateType()
    )
    assert evolved(tmp_path, before, then, SchemaDrift.EVOLVE) == (
        "1: i: optional long 2: f: optional double 3: d: optional decimal(9, 2) "
        "4: s: optional struct<6: n: optional long, 9: more: optional list<struct<11: x: optional date>>> "
        "5: l: optional list<struct<8: n: optional long, 12: more: optional list<struct<14: x: optional date>>>> "
        "15: new: optional date"
    )


def test_narrower_records_change_nothing(tmp_path: Path) -> None:
    before = lake.fields(i=t.LongType(), f=t.DoubleType(), d=t.DecimalType(9, 2), more=t.StringType())
    then = lake.fields(i=t.ByteType(), f=t.FloatType(), d=t.DecimalType(38, 2))
    assert "int " not in evolved(tmp_path, before, then, SchemaDrift.STOP)


@pytest.mark.parametrize("mode", [SchemaDrift.EVOLVE, SchemaDrift.IGNORE, SchemaDrift.STOP])
def test_types_that_contradict_each_other_stop_the_task(tmp_path: Path, mode: SchemaDrift) -> None:
    with pytest.raises(ConnectError, match=r"s.a is string in the records and int in the table"):
        evolved(
            tmp_path, lake.fields(s=lake.fields(a=t.IntegerType())), lake.fields(s=lake.fields(a=t.StringType())), mode
        )


def test_wider_and_new_columns_without_evolution(tmp_path: Path) -> None:
    before = lake.fields(a=t.IntegerType(), s=lake.fields(b=t.StringType()))
    with pytest.raises(ConnectError, match=r"a is bigint.*evolve-schema-enabled=true"):
        evolved(tmp_path, before, lake.fields(a=t.LongType()), SchemaDrift.IGNORE)
    new = lake.fields(a=t.IntegerType(), s=lake.fields(c=t.StringType()))
    with pytest.raises(ConnectError, match=r"s\.c: not among the columns of shop.flights, and schema.drift=stop"):
        evolved(tmp_path, before, new, SchemaDrift.STOP)
    assert "c:" not in evolved(tmp_path, before, new, SchemaDrift.IGNORE)


def test_names_in_other_cases_are_the_same_column_if_wanted(tmp_path: Path) -> None:
    before, then = lake.fields(Id=t.IntegerType()), lake.fields(ID=t.IntegerType())
    ignoring = {"iceberg.tables.schema-case-insensitive": "true"}
    assert evolved(tmp_path, before, then, SchemaDrift.EVOLVE, **ignoring) == "1: Id: optional int"
    assert "2: ID: optional int" in evolved(tmp_path, before, then, SchemaDrift.EVOLVE)
    both = lake.fields(id=t.IntegerType(), iD=t.IntegerType())
    assert drift(both, before, ignores_case=True).misfits == ["id and iD are both column Id"]


def test_another_writers_change_of_the_columns_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, then = lake.fields(a=t.IntegerType()), lake.fields(a=t.IntegerType(), own=t.StringType())
    IcebergTable(lake.settings(tmp_path), SchemaDrift.EVOLVE).prepared(before)
    one = IcebergTable(lake.settings(tmp_path), SchemaDrift.EVOLVE)
    catalog = one.catalog()
    real = catalog.commit_table

    def overtaken(*request: Any) -> Any:
        monkeypatch.setattr(catalog, "commit_table", real)
        with lake.catalog(tmp_path).load_table(lake.NAME).update_schema() as update:
            update.add_column("theirs", lake.catalog(tmp_path).load_table(lake.NAME).schema().find_type("a"))
        return real(*request)

    monkeypatch.setattr(catalog, "commit_table", overtaken)
    assert one.prepared(then).schema().column_names == ["a", "theirs", "own"]
