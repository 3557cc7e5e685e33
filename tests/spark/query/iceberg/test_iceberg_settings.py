"""Settings of a sink to an Iceberg table: those of Iceberg's own sink, with their defaults; others are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.api.drift import SchemaDrift
from penstock.api.errors import ConfigError
from penstock.connectors import SparkSink
from penstock.connectors.spark.iceberg_settings import PartitionTerm, partition_terms
from penstock.connectors.spark.sink_settings import SinkSettings, format_of_spark, sink_problems
from spark.query.iceberg import lake

PLACE = Path("/data")


def test_defaults_are_those_of_icebergs_sink() -> None:
    given = lake.config(PLACE)
    del given["iceberg.tables.auto-create-enabled"]
    assert sink_problems(given) == []
    found = SinkSettings.of(given)
    assert found.iceberg is not None
    assert (found.iceberg.catalog_name, found.iceberg.table, found.iceberg.branch) == ("iceberg", lake.NAME, "main")
    one = found.iceberg
    assert (one.creates, one.evolves, one.force_optional, one.ignores_case) == (False, False, False, False)
    assert found.drift is SchemaDrift.IGNORE
    assert found.target == lake.NAME
    assert found.iceberg.catalog["uri"] == "sqlite:////data/catalog.db"
    assert format_of_spark(given) == ""


def test_settings_of_a_table_take_precedence() -> None:
    own = {
        "iceberg.tables.default-partition-by": "year(at)",
        "iceberg.table.shop.flights.partition-by": "day(at), bucket(id, 16), truncate(name,3), country",
        "iceberg.tables.default-id-columns": "other",
        "iceberg.table.shop.flights.id-columns": "id, at",
        "iceberg.tables.default-commit-branch": "staging",
        "iceberg.table.shop.flights.commit-branch": "audit",
    }
    found = lake.settings(PLACE, **own)
    assert found.partition_by == (
        PartitionTerm("day", "at"),
        PartitionTerm("bucket", "id", 16),
        PartitionTerm("truncate", "name", 3),
        PartitionTerm("identity", "country"),
    )
    assert (found.id_columns, found.branch) == (("id", "at"), "audit")
    defaults = {name: value for name, value in own.items() if "default" in name}
    assert lake.settings(PLACE, **defaults).branch == "staging"


@pytest.mark.parametrize("plural", ["years(a)", "months(a)", "days(a)", "hours(a)"])
def test_transforms_of_time_have_plurals_too(plural: str) -> None:
    assert partition_terms(plural) == partition_terms(plural.replace("s(", "("))


@pytest.mark.parametrize(
    ("given", "drift"),
    [
        ({"iceberg.tables.evolve-schema-enabled": "true"}, "evolve"),
        ({"iceberg.tables.evolve-schema-enabled": "false"}, "ignore"),
        ({"schema.drift": "dead-letter"}, "dead-letter"),
        ({"schema.drift": "stop", "iceberg.tables.evolve-schema-enabled": "false"}, "stop"),
        ({"schema.drift": "evolve"}, "evolve"),
    ],
)
def test_fields_that_a_table_lacks_are_added_or_left_out_unless_schema_drift_is_set(
    given: dict[str, str], drift: str
) -> None:
    assert sink_problems(lake.config(PLACE, **given)) == []
    assert SinkSettings.of(lake.config(PLACE, **given)).drift == drift


CATALOG = "iceberg.catalog."


@pytest.mark.parametrize(
    ("changed", "name", "said"),
    [
        (
            {f"{CATALOG}catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog"},
            f"{CATALOG}catalog-impl",
            "type=rest|sql",
        ),
        ({f"{CATALOG}io-impl": "org.apache.iceberg.aws.s3.S3FileIO"}, f"{CATALOG}io-impl", "leave it out"),
        ({f"{CATALOG}py-catalog-impl": "os.path"}, f"{CATALOG}py-catalog-impl", "names a class that would be loaded"),
        ({f"{CATALOG}py-io-impl": "os.path"}, f"{CATALOG}py-io-impl", "names a class"),
        ({f"{CATALOG}s3.retry-strategy-impl": "a.B"}, f"{CATALOG}s3.retry-strategy-impl", "names a class"),
        ({f"{CATALOG}type": ""}, f"{CATALOG}type", "is missing"),
        ({f"{CATALOG}type": "hadoop"}, f"{CATALOG}type", "hadoop is not supported: it is one of rest, sql, hive, glue"),
        ({f"{CATALOG}uri": "mysql://db/x"}, f"{CATALOG}uri", "has to begin with sqlite:// or postgresql://"),
        ({"iceberg.tables": ""}, "iceberg.tables", "is missing"),
        ({"iceberg.tables": "flights"}, "iceberg.tables", "a namespace and a name"),
        ({"iceberg.tables": "a.b, a.c"}, "iceberg.tables", "names 2 tables, which is not supported yet"),
        ({"iceberg.tables.dynamic-enabled": "true"}, "iceberg.tables.dynamic-enabled", "not supported yet"),
        ({"iceberg.tables.route-field": "kind"}, "iceberg.tables.route-field", "not supported yet"),
        ({"iceberg.tables.upsert-mode-enabled": "true"}, "iceberg.tables.upsert-mode-enabled", "not supported yet"),
        ({"iceberg.tables.cdc-field": "op"}, "iceberg.tables.cdc-field", "not supported yet"),
        (
            {"iceberg.table.shop.flights.route-regex": "x"},
            "iceberg.table.shop.flights.route-regex",
            "not supported yet",
        ),
        ({"iceberg.table.shop.flights.colour": "x"}, "iceberg.table.shop.flights.colour", "no setting of a table"),
        ({"iceberg.table.shop.other.id-columns": "x"}, "iceberg.table.shop.other.id-columns", "is of no table"),
        ({"iceberg.tables.default-partition-by": "week(at)"}, "iceberg.tables.default-partition-by", "week(at) is no"),
        (
            {"iceberg.tables.default-partition-by": "bucket(a)"},
            "iceberg.tables.default-partition-by",
            "bucket(a) is no",
        ),
        ({"iceberg.control.topic": "c"}, "iceberg.control.topic", "has no meaning here"),
        ({"iceberg.control.commit.interval-ms": "1"}, "iceberg.control.commit.interval-ms", "trigger.interval.ms"),
        ({"iceberg.hadoop.fs.x": "1"}, "iceberg.hadoop.fs.x", "without Hadoop"),
        ({"iceberg.kafka.x": "1"}, "iceberg.kafka.x", "no control topic"),
        ({"path": "/t"}, "path", "iceberg.tables names the table"),
        ({"table": "t"}, "table", "iceberg.tables names the table"),
        ({"mode": "overwrite"}, "mode", "rows are added"),
        ({"insert.mode": "upsert"}, "insert.mode", "rows are added"),
        ({"partition.by": "a"}, "partition.by", "default-partition-by"),
        ({"schema.evolution": "add"}, "schema.evolution", "evolve-schema-enabled"),
        ({"option.x": "1"}, "option.x", "write-props"),
        (
            {"schema.drift": "ignore", "iceberg.tables.evolve-schema-enabled": "true"},
            "schema.drift",
            "contradict each other",
        ),
        ({"schema.drift": "dead-letter", "sql": "SELECT 1"}, "schema.drift", "sql decides"),
        (
            {"iceberg.tables.write-props.write.colour": "x"},
            "iceberg.tables.write-props.write.colour",
            "no property that",
        ),
        (
            {"iceberg.tables.write-props.write.target-file-size-bytes": "0"},
            "iceberg.tables.write-props.write.target-file-size-bytes",
            "above 0",
        ),
        (
            {"iceberg.tables.auto-create-props.format-version": "1"},
            "iceberg.tables.auto-create-props.format-version",
            "created in version 2",
        ),
        (
            {"iceberg.tables.auto-create-props.write.format.default": "orc"},
            "iceberg.tables.auto-create-props.write.format.default",
            "written as parquet",
        ),
        (
            {"iceberg.tables.auto-create-props.write.py-location-provider.impl": "a.B"},
            "iceberg.tables.auto-create-props.write.py-location-provider.impl",
            "names a class",
        ),
        ({"iceberg.foo": "1"}, "iceberg.foo", "is no setting of a sink to Iceberg"),
        (
            {"iceberg.tables.evolve-schema-enable": "true"},
            "iceberg.tables.evolve-schema-enable",
            "iceberg.tables.evolve-schema-enabled",
        ),
        ({f"{CATALOG}typ": "x"}, f"{CATALOG}typ", "is no property of catalogs that pyiceberg has"),
        ({f"{CATALOG}auth": "basic"}, f"{CATALOG}auth", "is no property of catalogs"),
        *(
            ({f"iceberg.tables.{kind}-props.{name}": value}, f"iceberg.tables.{kind}-props.{name}", said)
            for kind in ("write", "auto-create")
            for name, value, said in (
                ("write.parquet.compression-level", "x", "has to be a whole number"),
                ("write.parquet.page-row-limit", "abc", "above 0"),
                ("write.metadata.metrics.default", "ful", "none, counts, truncate(16) or full"),
                ("write.metadata.metrics.column.id", "truncate", "none, counts, truncate(16) or full"),
                ("write.parquet.compression-codec", "zstdd", "zstd, gzip"),
                ("write.object-storage.enabled", "maybe", "true or false"),
            )
        ),
        (
            {"iceberg.tables.write-props.write.parquet.row-group-size-bytes": str((64 << 20) + 1)},
            "iceberg.tables.write-props.write.parquet.row-group-size-bytes",
            "set at most 67108864",
        ),
        *(
            (
                {"iceberg.tables.default-partition-by": given},
                "iceberg.tables.default-partition-by",
                said,
            )
            for given, said in (
                ("bucket(id, 4), bucket(id, 8)", "two partition fields of the name id_bucket"),
                ("day, country, day", "two partition fields of the name day"),
                ("year(at), day(at)", "year and day are both of at"),
            )
        ),
        *(
            ({"iceberg.tables.auto-create-enabled": "false", name: value}, name, "auto-create-enabled=true")
            for name, value in (
                ("iceberg.tables.default-partition-by", "id"),
                ("iceberg.tables.default-id-columns", "id"),
                ("iceberg.tables.schema-force-optional", "true"),
                ("iceberg.table.shop.flights.partition-by", "id"),
                ("iceberg.tables.auto-create-props.x", "y"),
            )
        ),
    ],
)
def test_what_has_no_effect_is_refused(changed: dict[str, str], name: str, said: str) -> None:
    found = dict(sink_problems(lake.config(PLACE, **changed)))
    assert said in found[name]


def test_properties_of_stores_and_catalogs_are_handed_over() -> None:
    more = {
        f"{CATALOG}s3.endpoint": "http://store:9000",
        f"{CATALOG}oauth2-server-uri": "https://catalog/token",
        f"{CATALOG}header.X-Iceberg-Access-Delegation": "vended-credentials",
        "iceberg.tables.write-props.write.parquet.compression-codec": "ZSTD",
        "iceberg.tables.write-props.write.metadata.metrics.default": "truncate(8)",
        "iceberg.tables.write-props.write.parquet.compression-level": "-1",
        "iceberg.tables.default-partition-by": "day(at), bucket(at, 4), id",
        "iceberg.tables.schema-force-optional": "false",
    }
    assert sink_problems(lake.config(PLACE, **more)) == []


def test_a_task_does_not_run_with_settings_that_are_refused() -> None:
    with pytest.raises(ConfigError, match="is empty: give it a value"):
        SinkSettings.of(lake.config(PLACE, **{"iceberg.catalog.type": ""}))


def test_settings_of_iceberg_need_its_format_and_a_catalog() -> None:
    ((name, sentence),) = sink_problems({"format": "parquet", "path": "/t", "iceberg.tables": "a.b"})
    assert (name, sentence) == (
        "iceberg.tables",
        "has no effect with format=parquet: set format=iceberg, or leave it out",
    )
    ((name, sentence),) = sink_problems({"format": "iceberg", "iceberg.tables": "a.b"})
    assert name == "iceberg.catalog.type"
    assert "is missing beside iceberg.tables" in sentence


def test_a_table_of_one_of_sparks_catalogs_is_written_by_spark() -> None:
    given = {"format": "iceberg", "table": "lake.shop.flights"}
    assert sink_problems(given) == []
    assert SinkSettings.of(given).iceberg is None
    assert format_of_spark(given) == "iceberg"


def test_the_connector_knows_the_settings_that_the_user_completes() -> None:
    given = lake.config(PLACE)
    assert all(
        name in SparkSink.settings.keys or name.startswith(SparkSink.setting_prefixes)
        for name in given
        if name not in ("name",)
    )
    assert SparkSink().problems(given) == []
