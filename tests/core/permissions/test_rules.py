"""Plugins, functions, programs, formats and paths that a worker's operator allows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.api.paths import path_problem
from penstock.api.programs import PYTHONS_ALLOWED, SOURCES_ALLOWED, TAPS_ALLOWED, TARGETS_ALLOWED
from penstock.core.config.overrides import NONE
from penstock.core.config.permissions.rules import (
    DEFAULT_FORMATS,
    Permissions,
)
from support.permissions import FILE, limited_to, problems


def test_by_default_all_plugins_are_allowed() -> None:
    assert problems(Permissions(), connector__class="FileStreamSource", file="/etc/passwd", transforms="a") == {}


@pytest.mark.parametrize("name", ["FileStreamSource", "FileStreamSourceConnector", FILE, f" {FILE} "])
def test_a_class_is_denied_by_any_of_its_names(name: str) -> None:
    denying = Permissions(denied=("org.apache.kafka.connect.file.*",))
    wanted = f"{FILE} is denied by `penstock.plugins.denied` of the worker"
    assert problems(denying, connector__class=name) == {"connector.class": wanted}


def test_every_setting_that_names_a_class_is_checked() -> None:
    config: Any = {
        "connector__class": "FileStreamSink",
        "key__converter": "org.apache.kafka.connect.json.JsonConverter",
        "value__converter": "StringConverter",
        "header__converter": "SimpleHeaderConverter",
        "transforms": "a, b",
        "transforms__a__type": "RegexRouter",
        "transforms__b__type": "no.such.Class",
        "predicates": "p",
        "predicates__p__type": "TopicNameMatches",
    }
    found = problems(Permissions(plugins=("org.apache.kafka.connect.file.*", "*.json.*")), **config)
    assert set(found) == {
        *("value.converter", "header.converter"),
        *("transforms.a.type", "transforms.b.type", "predicates.p.type"),
    }
    assert all("is not among the plugins that `penstock.plugins.allowed`" in each for each in found.values())


def test_only_allowed_functions_may_be_called() -> None:
    config: Any = {"connector__class": "FileStreamSource", "transforms": "t"}
    config |= {"transforms__t__type": "penstock.transforms.PythonFunction"}
    allowing = Permissions(functions=("shop.*", "lib.clean:one"))
    for name in ("shop.a:b", "shop.a.b", "lib.clean:one", "lib.clean.one"):
        assert problems(allowing, **config, transforms__t__function=name) == {}
    for name in ("os:system", "shops.a:b", "lib.clean:two", "xshop.a:b"):
        assert set(problems(allowing, **config, transforms__t__function=name)) == {"transforms.t.function"}
    assert set(problems(Permissions(), **config, transforms__t__function="shop:a")) == {"transforms.t.function"}


def test_only_allowed_taps_may_run() -> None:
    config: Any = {"connector__class": "penstock.connectors.SingerSource"}
    allowing = Permissions(programs={TAPS_ALLOWED: ("/opt/taps/*/bin/tap-*", "/usr/bin/tap-one")})
    for tap in ("/opt/taps/github/bin/tap-github", "/usr/bin/tap-one"):
        assert problems(allowing, **config, singer__tap=tap) == {}
        assert set(problems(Permissions(), **config, singer__tap=tap)) == {"singer.tap"}
    for tap in (
        "/bin/sh",
        "tap-one",
        "/opt/taps/x/bin/tap-/../../../../../bin/sh",
        "/usr/bin/tap-one -c",
        "//usr/bin/tap-one",
    ):
        assert set(problems(allowing, **config, singer__tap=tap)) == {"singer.tap"}, tap


def test_only_allowed_targets_may_run() -> None:
    config: Any = {"connector__class": "penstock.connectors.SingerSink"}
    target = "/opt/targets/pg/bin/target-postgres"
    allowing = Permissions(programs={TAPS_ALLOWED: ("/bin/sh",), TARGETS_ALLOWED: ("/opt/targets/*/bin/target-*",)})
    assert problems(allowing, **config, singer__target=target) == {}
    assert set(problems(Permissions(), **config, singer__target=target)) == {"singer.target"}
    for other in ("/bin/sh", "target-postgres", "/opt/targets/../../bin/sh/bin/target-x"):
        assert set(problems(allowing, **config, singer__target=other)) == {"singer.target"}, other


def test_only_allowed_sources_of_dlt_may_run() -> None:
    config: Any = {"connector__class": "penstock.connectors.DltSource"}
    sources = ("/opt/dlt/*.py:*", "shop.*:*", "dlt.sources.rest_api:rest_api_source")
    allowing = Permissions(programs={SOURCES_ALLOWED: sources, PYTHONS_ALLOWED: ("/opt/dlt/*/bin/python",)})
    for source in ("/opt/dlt/shop.py:orders", "shop.sources:orders", "dlt.sources.rest_api:rest_api_source"):
        assert problems(allowing, **config, dlt__source=source) == {}
        assert set(problems(Permissions(), **config, dlt__source=source)) == {"dlt.source"}
    for source in ("os:system", "/opt/dlt/../tmp/x.py:f", "/tmp/x.py:f", "dlt.sources.filesystem:filesystem"):
        assert set(problems(allowing, **config, dlt__source=source)) == {"dlt.source"}, source
    config["dlt__source"] = "shop.sources:orders"
    assert problems(allowing, **config, dlt__python="/opt/dlt/shop/bin/python") == {}
    for python in ("/bin/sh", "python", "/opt/dlt/x/../../../bin/python"):
        assert set(problems(allowing, **config, dlt__python=python)) == {"dlt.python"}, python


def test_classes_of_mirror_connectors_are_checked_as_functions() -> None:
    mirror = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
    own = "org.apache.kafka.connect.mirror.DefaultTopicFilter"
    assert problems(Permissions(), connector__class=mirror, topic__filter__class=own) == {}
    found = problems(Permissions(), connector__class=mirror, topic__filter__class="os.PathLike")
    assert set(found) == {"topic.filter.class"}


def test_only_allowed_formats_may_be_used() -> None:
    sink = {"connector__class": "penstock.connectors.SparkSink", "path": "/x"}
    assert problems(Permissions(), **sink) == {}
    for format in ("Parquet", "delta", "csv"):
        assert problems(Permissions(), **sink, format=format) == {}
    for format in ("socket", "org.apache.spark.sql.parquet", "console", "my.DataSource"):
        assert set(problems(Permissions(), **sink, format=format)) == {"format"}
    assert set(problems(Permissions(formats=("csv",)), **sink)) == {"format"}
    assert {"jdbc", "kafka"} <= set(DEFAULT_FORMATS)


def test_only_allowed_paths_may_be_used(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "link").symlink_to(outside)
    allowed = (str(inside), "s3a://lake/raw", "hdfs:///data")
    for good in ("a", "b/c.txt", ""):
        assert path_problem(f"{inside}/{good}", allowed) is None
        assert path_problem(f"file:{inside}/{good}", allowed) is None
        assert path_problem(f"s3a://lake/raw/{good}", allowed) is None
    for bad in (
        f"{inside}/../outside/x",
        f"{inside}/link/x",
        f"{inside}2",
        f"{inside}/{{a,b}}",
        f"file:{inside}/%2e%2e/outside",
        "s3a://lake/rawer",
        "s3a://other/raw",
        "s3://lake/raw",
        "s3a://lake/raw/../x",
        "/data",
        "passwd",
    ):
        assert path_problem(bad, allowed), bad
    limited = limited_to(allowed)
    assert problems(limited, connector__class=FILE, file="/etc/passwd") == {
        "file": "/etc/passwd is not in the folders of `penstock.paths.allowed` of the worker: " + ", ".join(allowed)
    }
    source = {"connector__class": "penstock.connectors.SparkSource", "format": "json"}
    found = problems(limited, **source, path=str(inside), checkpoint__location="/tmp", option__path="/")
    assert set(found) == {"checkpoint.location", "option.path"}
    sink = {"connector__class": "penstock.connectors.SparkSink", "table": "parquet.`/etc`"}
    assert set(problems(limited, **sink)) == {"table"}


def test_options_of_spark_are_checked_in_any_case(tmp_path: Path) -> None:
    """Spark reads names of options without their case."""
    patterns = ("json.path", "json.sourceArchiveDir", "*.rowValidationXSDPath", "json.*Url")
    limited = limited_to([str(tmp_path)], options=patterns)
    source: Any = {"connector__class": "penstock.connectors.SparkSource", "format": "json", "path": str(tmp_path)}
    for option in ("PATH", "Path", "sourceArchiveDir", "rowValidationXSDPath", "avroSchemaUrl"):
        assert set(problems(limited, **source, **{f"option__{option}": "/etc"})) == {f"option.{option}"}
        assert problems(limited, **source, **{f"option__{option}": f"{tmp_path}/x"}) == {}
    assert set(problems(limited, **source, option__Paths='["/etc"]')) == {"option.Paths"}
    sink: Any = {"connector__class": "penstock.connectors.SparkSink", "format": "jdbc"}
    for url in ("jdbc:sqlite:/etc/x.db", "JDBC:SQLite:/etc/x.db"):
        assert set(problems(limited, **sink, option__Url=url)) == {"option.Url"}
    kafka: Any = {"connector__class": "penstock.connectors.SparkSource", "format": "Kafka"}
    found = problems(Permissions(policy=NONE), **kafka, option__KAFKA__Bootstrap__servers="h:1")
    assert "'None' policy does not allow 'bootstrap.servers'" in found["option.kafka.bootstrap.servers"]
