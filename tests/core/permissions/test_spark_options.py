"""Options of Spark that connectors may give by themselves, and those that the worker's operator adds."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

import pytest

from penstock.core.config.permissions.rules import DEFAULT_FORMATS, Permissions
from penstock.core.config.permissions.spark_options import PATH_OPTIONS, is_option, options_of
from support.permissions import limited_to, problems

pytestmark = pytest.mark.security
SINK, SOURCE = "penstock.connectors.SparkSink", "penstock.connectors.SparkSource"

HONEST = {
    "parquet": {"compression": "zstd", "mergeSchema": "true", "parquet.block.size": "1048576", "TIMEZONE": "UTC"},
    "orc": {"compression": "zlib", "orc.bloom.filter.columns": "a", "maxRecordsPerFile": "1000"},
    "csv": {"header": "true", "sep": ";", "dateFormat": "dd/MM/yyyy", "maxFilesPerTrigger": "1", "MODE": "FAILFAST"},
    "json": {"multiLine": "true", "cleanSource": "delete", "maxBytesPerTrigger": "1g", "latestFirst": "true"},
    "xml": {"rowTag": "row", "rootTag": "rows", "pathGlobFilter": "*.xml"},
    "text": {"wholetext": "true", "lineSep": "|"},
    "avro": {"avroSchema": "{}", "recordName": "r", "compression": "snappy"},
    "binaryfile": {"recursiveFileLookup": "true"},
    "delta": {"mergeSchema": "true", "delta.enableChangeDataFeed": "true", "startingVersion": "0", "userMetadata": "x"},
    "iceberg": {"fanout-enabled": "true", "target-file-size-bytes": "1000"},
    "hudi": {"hoodie.table.name": "t", "hoodie.datasource.write.recordkey.field": "id"},
    "kafka": {"subscribe": "t", "startingOffsets": "earliest", "kafka.bootstrap.servers": "h:1", "minPartitions": "2"},
    "rate": {"rowsPerSecond": "5", "rampUpTime": "1s"},
    "rate-micro-batch": {"rowsPerBatch": "5", "startTimestamp": "0"},
    "jdbc": {"url": "jdbc:postgresql://h/d", "dbtable": "t", "numPartitions": "1", "ApplicationName": "x"},
}
HOSTILE = {
    "fs.viewfs.mounttable.x.link./a": "file:///etc",
    "fs.defaultFS": "file:///",
    "FS.s3a.endpoint": "http://h",
    "fs.s3a.aws.credentials.provider": "com.x.Y",
    "hadoop.security.credential.provider.path": "jceks://file/x",
    "parquet.crypto.factory.class": "com.x.Y",
    "parquet.read.support.class": "com.x.Y",
    "parquet.write.support.class": "com.x.Y",
    "mapreduce.outputcommitter.factory.class": "com.x.Y",
    "mapreduce.input.fileinputformat.inputdir": "/etc",
    "io.compression.codecs": "com.x.Y",
    "spark.sql.sources.outputCommitterClass": "com.x.Y",
    "spark.executor.extraJavaOptions": "-Dx",
    "badRecordsPath": "/tmp/x",
    "rowValidationXSDPath": "http://h/x.xsd",
    "avroSchemaUrl": "http://h/x",
    "path": "/etc",
    "PATHS": '["/etc"]',
    "basePath": "/etc",
    "checkpointLocation": "/etc",
    "sourceArchiveDir": "/etc",
    "schemaTrackingLocation": "/etc",
    "replaceWhere": "reflect('java.lang.System', 'exit', '1') = 'x'",
    "delta.constraints.x": "reflect('a', 'b') = 'x'",
    "kafka.ssl.truststore.location": "/etc/x",
    "kafka.ssl.keystore.location": "/etc/x",
    "KAFKA.SSL.KeyStore.Location": "/etc/x",
    "kafka.sasl.oauthbearer.assertion.file": "/etc/x",
    "kafka.sasl.oauthbearer.assertion.private.key.file": "/etc/x",
    "keytab": "/etc/x",
    "unknown": "x",
    " mode": "x",
    "": "x",
}


def asked(connector: str, format: str, options: dict[str, str], permissions: Permissions | None = None) -> set[str]:
    config: Any = {"connector__class": connector, "format": format, "path": "/x"}
    config |= {f"option.{name}": value for name, value in options.items()}
    return set(problems(permissions or Permissions(), **config))


@pytest.mark.parametrize("connector", [SINK, SOURCE])
@pytest.mark.parametrize("format", HONEST)
def test_honest_options_pass(connector: str, format: str) -> None:
    assert asked(connector, format, HONEST[format]) == set()
    assert asked(connector, format.upper(), {name.upper(): value for name, value in HONEST[format].items()}) == set()


@pytest.mark.parametrize("connector", [SINK, SOURCE])
@pytest.mark.parametrize("format", [*sorted(set(HONEST) - {"jdbc"}), "console", "com.example.Format"])
def test_other_options_are_refused(connector: str, format: str) -> None:
    allowed = Permissions(formats=("*", format))
    for name, value in HOSTILE.items():
        if format == "rate" and name == "":
            continue
        assert f"option.{name}" in asked(connector, format, {name: value}, allowed), name


def test_options_that_name_files_are_refused_for_jdbc() -> None:
    for name in ("path", "Paths"):
        assert asked(SINK, "jdbc", {**HONEST["jdbc"], name: "/etc/x"}) == {f"option.{name}"}


def test_a_refusal_names_the_option_and_what_is_allowed() -> None:
    config: Any = {"connector__class": SINK, "format": "text", "path": "/x", "option__fs__defaultFS": "file:///"}
    assert problems(Permissions(), **config)["option.fs.defaultFS"] == (
        "fs.defaultFS is not among the options of format=text that connectors may give: "
        f"{', '.join(options_of('text'))}; `penstock.spark.options.allowed` of the worker allows others, as "
        "`text.fs.defaultFS`"
    )


def test_an_operator_may_allow_options(tmp_path: Any) -> None:
    allowed = Permissions(
        formats=("csv", "snowflake"), options=("csv.badRecordsPath", "SNOWFLAKE.sf*", "*.fs.s3a.endpoint")
    )
    for format, name in (("csv", "badRecordsPath"), ("snowflake", "sfURL"), ("csv", "FS.s3a.Endpoint")):
        assert asked(SINK, format, {name: "x"}, allowed) == set()
    for format, name in (("csv", "rowValidationXSDPath"), ("snowflake", "other"), ("csv", "fs.s3a.endpoints")):
        assert asked(SINK, format, {name: "x"}, allowed) == {f"option.{name}"}
    limited = limited_to([str(tmp_path)], options=("csv.badRecordsPath",))
    config: Any = {"connector__class": SINK, "format": "csv", "path": str(tmp_path)}
    assert problems(limited, **config, option__badRecordsPath=f"{tmp_path}/bad") == {}
    assert set(problems(limited, **config, option__badRecordsPath="/etc")) == {"option.badRecordsPath"}


def test_codecs_have_short_names() -> None:
    for format, name in (
        ("parquet", "compression"),
        ("csv", "codec"),
        ("orc", "orc.compress"),
        ("avro", "compression"),
    ):
        assert asked(SINK, format, {name: "gzip"}) == set()
        assert asked(SINK, format, {name: "com.example.Codec"}) == {f"option.{name}"}


def test_lists_have_no_option_that_names_a_file() -> None:
    text = (files("penstock.core.config.permissions") / "spark_options.toml").read_text("utf-8")
    lists = tomllib.loads(text)
    assert set(DEFAULT_FORMATS) <= set(lists)
    for format, options in lists.items():
        assert [name for name in options if name.casefold() in PATH_OPTIONS] == [], format
        assert not any(is_option(format, name) for name in PATH_OPTIONS)
        assert len(set(map(str.casefold, options))) == len(options)
