"""The statement by which a batch changes a Delta table. What Delta makes of it, ``test_delta.py`` shows."""

from __future__ import annotations

from penstock.connectors.spark.sink_settings import SinkSettings
from penstock.spark.query.sink.tables.delta import statement

UPSERT = {"format": "delta", "insert.mode": "upsert", "pk.mode": "record_key", "pk.fields": "a,b"}


def test_columns_that_the_records_lack_become_null() -> None:
    settings = SinkSettings.of({**UPSERT, "path": "/data/my`table", "schema.evolution": "fail"})
    assert statement(settings, ("a", "b"), ["a", "B", "new"], ["A", "b", "old"]) == (
        "MERGE INTO delta.`/data/my``table` AS t USING penstock_changes AS s ON t.`a` <=> s.`a` AND t.`b` <=> s.`b` "
        "WHEN MATCHED AND s.__penstock_deleted THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET `a` = s.`a`, `B` = s.`B`, `new` = s.`new`, `old` = NULL "
        "WHEN NOT MATCHED AND NOT s.__penstock_deleted THEN INSERT (`a`, `B`, `new`) VALUES (s.`a`, s.`B`, s.`new`)"
    )


def test_columns_are_added_as_the_setting_says() -> None:
    settings = SinkSettings.of({**UPSERT, "table": "lake.flights"})
    assert statement(settings, ("a",), ["a"], []).startswith("MERGE WITH SCHEMA EVOLUTION INTO lake.flights AS t ")
