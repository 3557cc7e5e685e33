from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.api.config import ConfigDef, ConfigType
from penstock.api.errors import ConfigError, ConnectError
from penstock.core.config.catalog import CONNECTORS, Catalog, Kind, PluginClass
from penstock.core.config.versions import VersionRange, version_key


def plugin(name: str, *kinds: Kind, version: str = "1.0") -> PluginClass:
    return PluginClass(name, kinds, version, ConfigDef)


CATALOG = Catalog(
    [
        plugin("org.x.FileStreamSourceConnector", Kind.SOURCE),
        plugin("org.x.FileStreamSinkConnector", Kind.SINK),
        plugin("org.x.TextConverter", Kind.CONVERTER, Kind.HEADER_CONVERTER),
        plugin("org.x.Cast$Key", Kind.TRANSFORMATION),
        plugin("org.x.Cast$Value", Kind.TRANSFORMATION),
        plugin("org.x.Upper", Kind.TRANSFORMATION),
        plugin("org.y.Upper", Kind.TRANSFORMATION),
        plugin("org.x.Secret", Kind.CONFIG_PROVIDER),
    ]
)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("org.x.FileStreamSourceConnector", "org.x.FileStreamSourceConnector"),
        ("FileStreamSourceConnector", "org.x.FileStreamSourceConnector"),
        ("FileStreamSource", "org.x.FileStreamSourceConnector"),
        ("TextConverter", "org.x.TextConverter"),
        ("Text", "org.x.TextConverter"),
        ("org.x.Cast$Key", "org.x.Cast$Key"),
        ("Cast$Key", None),
        ("Upper", None),
        ("org.y.Upper", "org.y.Upper"),
        ("Nothing", None),
    ],
)
def test_connectors_are_found_by_names_and_aliases(name: str, found: str | None) -> None:
    cls = CATALOG.load(name)
    assert (None if cls is None else cls.java_name) == found


def test_the_listing_has_each_plugin_once() -> None:
    assert CATALOG.listing() == [
        {"class": "org.x.FileStreamSinkConnector", "type": "sink", "version": "1.0"},
        {"class": "org.x.FileStreamSourceConnector", "type": "source", "version": "1.0"},
    ]
    kinds = [(each["class"], each["type"]) for each in CATALOG.listing(connectors_only=False)]
    assert kinds[2:] == [
        ("org.x.Cast$Key", "transformation"),
        ("org.x.Cast$Value", "transformation"),
        ("org.x.Upper", "transformation"),
        ("org.y.Upper", "transformation"),
        ("org.x.TextConverter", "converter"),
        ("org.x.TextConverter", "header_converter"),
    ]


def test_a_plugin_of_another_kind_is_no_connector() -> None:
    for name in ("Nothing", "TextConverter"):
        with pytest.raises(ConnectError, match=f"which name matches {name}, available connectors are: org.x."):
            CATALOG.connector(name)


def test_the_message_about_a_missing_connector_is_short_and_proposes_no_other_one() -> None:
    jdbc = [plugin(f"io.confluent.connect.jdbc.Jdbc{kind.value.title()}Connector", kind) for kind in CONNECTORS]
    many = [plugin(f"org.x.Number{number}Connector", Kind.SINK) for number in range(100)]
    with pytest.raises(ConnectError) as refused:
        Catalog([*jdbc, *many]).connector("io.confluent.connect.s3.S3SinkConnector")
    message = str(refused.value)
    assert "Did you mean" not in message
    assert message.endswith(
        " and 77 more, see GET /connector-plugins. Its jar, or its Python package, must be in a "
        "folder of the worker's plugin.path"
    )
    assert len(message) < 1500
    with pytest.raises(ConnectError, match=r"Did you mean 'io\.confluent\.connect\.jdbc\.JdbcSinkConnector'\?$"):
        Catalog(jdbc).connector("io.confluent.connect.jdbc.JdbcSnkConector")


def test_a_class_that_can_not_be_used_is_listed_and_refused_with_its_problem() -> None:
    problem = "org.z.NewConnector of /jars/new.jar can't be used: it is compiled for Java 99, and this is Java 17"
    newer = replace(plugin("org.z.NewConnector", Kind.SINK), problem=problem)
    usable = plugin("org.z.Both", Kind.SINK)
    catalog = Catalog([newer, usable, replace(usable, problem="is not the only one")])
    assert [each["class"] for each in catalog.listing()] == ["org.z.Both"]
    assert catalog.listing(unusable=True)[-1] == {"class": "org.z.NewConnector", "type": "sink", "problem": problem}
    for name in ("org.z.NewConnector", "NewConnector", "New"):
        assert catalog.load(name) is None
        with pytest.raises(ConnectError) as refused:
            catalog.connector(name)
        assert str(refused.value) == problem
        with pytest.raises(ConfigError) as invalid:
            ConfigDef().define("type", ConfigType.CLASS).parse({"type": name}, catalog.load_any)
        assert str(invalid.value) == problem
    assert catalog.connector("Both") == usable
    assert catalog.problem("Both") is None
    assert catalog.problem("Nothing") is None


def test_a_class_that_is_not_there_is_refused_with_a_reason() -> None:
    with pytest.raises(ConnectError, match="Its jar, or its Python package, must be in a folder"):
        CATALOG.connector("io.debezium.connector.mysql.MySqlConnector")


def test_an_ambiguous_alias_is_refused() -> None:
    catalog = Catalog([plugin("a.Jdbc", Kind.SINK), plugin("b.JdbcConnector", Kind.SOURCE)])
    with pytest.raises(ConnectError, match=r"More than one connector matches alias Jdbc\. Please use full package"):
        catalog.connector("Jdbc")


def test_an_alias_of_a_plugin_and_of_a_native_connector_means_the_plugin() -> None:
    native = replace(plugin("io.x.JdbcSinkConnector", Kind.SINK), native=True)
    for name in ("JdbcSinkConnector", "JdbcSink"):
        assert Catalog([native]).connector(name) == native
        jar = plugin("io.y.JdbcSinkConnector", Kind.SINK)
        assert Catalog([native, jar]).connector(name) == jar
        with pytest.raises(ConnectError, match="More than one connector matches alias"):
            Catalog([native, jar, plugin("io.z.JdbcSinkConnector", Kind.SINK)]).connector(name)


def test_a_version_outside_of_the_range_is_refused() -> None:
    for wanted in (None, "[0.9,2)"):
        assert CATALOG.choose("TextConverter", wanted) == CATALOG.load("TextConverter")
    with pytest.raises(ConfigError) as caught:
        CATALOG.choose("TextConverter", "9.9")
    assert str(caught.value) == (
        "Plugin org.x.TextConverter not found that matches the version range [9.9,9.9], available versions: [1.0, 1.0]"
    )
    assert CATALOG.choose("Nothing", "9.9") is None


def test_the_newest_version_or_the_nearest_place_is_chosen() -> None:
    places = {"file:/a/": "2.0", "file:/b/": "10.0", "file:/c/": "2.0", "classpath": "1.0"}
    classes = [
        PluginClass("org.x.Router", (Kind.TRANSFORMATION,), version, ConfigDef, None, place)
        for place, version in places.items()
    ]
    catalog = Catalog(classes)

    def place(wanted: str | None, near: str | None = None) -> str:
        found = catalog.choose("Router", wanted, near)
        assert found is not None
        return found.location

    assert catalog.versions("Router", Kind.TRANSFORMATION) == ["1.0", "2.0", "10.0"]
    assert catalog.load("Router") == classes[1], "the newest, if nothing else is said"
    assert [place("2.0"), place("[1,3)"), place("[1,2)")] == ["file:/c/", "file:/c/", "classpath"]
    assert [place(None, "file:/a/"), place("2.0", "file:/a/"), place("10.0", "file:/a/")] == [
        "file:/a/",
        "file:/a/",
        "file:/b/",
    ], "the connector's own first, if its version fits"
    assert catalog.default_version("Router", Kind.TRANSFORMATION, "file:/a/") == "2.0"
    assert [row["version"] for row in catalog.listing(connectors_only=False)] == ["1.0", "2.0", "10.0"]


def test_an_unknown_version_is_not_listed() -> None:
    catalog = Catalog([PluginClass("org.x.Test", (Kind.PREDICATE,), "undefined", ConfigDef)])
    assert catalog.listing(connectors_only=False) == [{"class": "org.x.Test", "type": "predicate"}]


def test_the_workers_own_class_is_preferred_among_equal_versions() -> None:
    classes = [
        PluginClass("org.x.Text", (Kind.CONVERTER,), "4", ConfigDef, None, place) for place in ("classpath", "a")
    ]
    found = Catalog(classes).load("Text")
    assert found is not None
    assert found.location == "classpath"


ASCENDING = """
    x1  é1  .1  1.0-alpha-1=1.0a1=1-ALPHA1  1.0-beta.2  1.0-m3  1.0-rc1=1.0.CR1  1.0-SNAPSHOT
    1=1.0=01.0.0=1.0-0=1.0.Final=1-ga=1.0.RELEASE  1.0-sp  1.0+build  1_0  1.0-a  1.0-jre  1.0-x=1.x  1-0-1
    1.0-1=1-1-0=1.-1  1.0-2  1.0-20240115.123456-1  1.0.a-1  1.0.1  1.0.1-1  1.0.1.1  1.1  1.99999999999
    2.7.0.Alpha1  2.7.0.Final  4_3_1  4-3-1  4.3  4.3-1  4.3.1  4.3.1-1  10.0
"""
"""In the order of Maven 3.9's ``ComparableVersion``."""


def test_versions_are_ordered_as_by_maven() -> None:
    ranks = {version: rank for rank, equal in enumerate(ASCENDING.split()) for version in equal.split("=")}
    for one, rank in ranks.items():
        for other, above in ranks.items():
            mine, theirs = version_key(one), version_key(other)
            assert (mine < theirs, mine == theirs) == (rank < above, rank == above), (one, other)


@pytest.mark.parametrize(
    ("wanted", "version", "fits"),
    [
        ("4.3.1", "4.3.1", True),
        ("4.3", "4.3.0", True),
        ("[4.0,5)", "4.3.1", True),
        ("(4.3.1,5)", "4.3.1", False),
        ("(,4.3.1]", "4.3.1", True),
        ("[1,2),[4,5]", "4.3.1", True),
        ("[1.0,)", "1.0-rc1", False),
        ("[1.0]", "1.0", True),
        ("4-3-1", "4.3.1", False),
    ],
)
def test_ranges_contain_the_versions_between_their_bounds(wanted: str, version: str, fits: bool) -> None:
    parsed = VersionRange.parse(wanted)
    assert parsed is not None
    assert parsed.contains(version) is fits


def test_no_range_means_any_version() -> None:
    assert [VersionRange.parse(text) for text in (None, "latest")] == [None] * 2


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ("[1.0", "Unbounded range: [1.0"),
        ("(1)", "Single version must be surrounded by []: (1)"),
        ("[2,1]", "Range defies version ordering: [2,1]"),
        ("[1,1)", "Range defies version ordering: [1,1)"),
        ("a,,b", "Range defies version ordering: [a,,b]"),
        ("[1.0],[0.5]", "Ranges overlap: [1.0],[0.5]"),
        ("[1,2)x", "Only fully-qualified sets allowed in multiple set scenario: [1,2)x"),
        ("x[1,2]", "Only fully-qualified sets allowed in multiple set scenario: [x[1,2]]"),
        ("]", "Only fully-qualified sets allowed in multiple set scenario: []]"),
    ],
)
def test_texts_that_are_no_range_are_refused(wanted: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        VersionRange.parse(wanted)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [("", "[,]"), ("[,]", "[,]"), ("1,2", "[1,2]"), ("[1,2] , [3,4]", "[1,2],[3,4]"), ("[ 4 , 5 ]", "[4,5]")],
)
def test_ranges_are_shown_as_by_maven(wanted: str, shown: str) -> None:
    assert str(VersionRange.parse(wanted)) == shown


def test_an_empty_version_is_the_version_of_nothing() -> None:
    nothing, anything = VersionRange.parse(""), VersionRange.parse("[,]")
    assert nothing is not None
    assert not nothing.contains("4.3.1")
    assert anything is not None
    assert anything.contains("4.3.1")


def test_versions_sort_by_numbers_and_words() -> None:
    ordered = ["1.0-alpha1", "1.0-beta", "1.0-rc1", "1.0-SNAPSHOT", "1.0", "1.0-sp", "1.0.1", "1.2", "1.10"]
    ordered += [f"1.{'9' * 999}", f"1.{'1' * 5000}", f"1.{'2' * 5000}", f"1.{'1' * 5001}", "2"]
    shuffled = ordered[::-1]
    assert sorted(shuffled, key=version_key) == ordered
    assert version_key("0" * 5000 + "1") == version_key("1")
