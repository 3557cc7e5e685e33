"""Paths that a configuration may name, as what opens them resolves them, and files that are opened later."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from penstock.api.errors import ConnectError
from penstock.api.paths import PathReader, limit_to_folders, open_allowed, outside, path_problem
from support.permissions import FILE, limited_to, problems

pytestmark = pytest.mark.security
SINK, SOURCE = "penstock.connectors.SparkSink", "penstock.connectors.SparkSource"
HADOOP = (PathReader.HADOOP, PathReader.HADOOP_PATTERN)


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    """An allowed folder, beside one that is not, with a link to that."""
    folder, other = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    other.mkdir()
    (other / "secret").write_text("secret\n")
    (folder / "link").symlink_to(other)
    (folder / "file").symlink_to(other / "secret")
    return folder


def refused(given: str, folder: Path, *readers: PathReader) -> list[PathReader]:
    allowed = (str(folder), "s3a://lake/raw", "hdfs:///data", "abfss://raw@account/data")
    return [reader for reader in readers or tuple(PathReader) if path_problem(given, allowed, reader)]


@pytest.mark.parametrize(
    "name", ["", "/", "/a", "/a/b.txt", "/a b", "/a%20b", "/ü", "/.a", "/a..b", "/...", "//a", "/a=1"]
)
def test_paths_inside_are_allowed(inside: Path, name: str) -> None:
    assert refused(f"{inside}{name}", inside) == []
    assert refused(f" {inside}{name}\n", inside) == []  # the parser of settings removes them, as Java's
    for start in (
        f"file:{inside}",
        f"file://{inside}",
        f"FILE:{inside}",
        "s3a://lake/raw",
        "hdfs:///data",
        "S3A://LAKE/raw",
    ):
        assert refused(f"{start}{name}", inside, *HADOOP) == []
    assert refused(f"abfss://raw@account/data{name}", inside, *HADOOP) == []


@pytest.mark.parametrize("name", ["/*.json", "/a?", "/[ab]", "/2026-*/*"])
def test_patterns_are_allowed_where_spark_reads(inside: Path, name: str) -> None:
    assert refused(f"{inside}{name}", inside) == [PathReader.HADOOP]
    assert refused(f"s3a://lake/raw{name}", inside, *HADOOP) == [PathReader.HADOOP]


OUTSIDE = [
    "{in}/../out",
    "{in}/a/../../out",
    "{in}/a/..",
    "{in}/..",
    "{in}/link",
    "{in}/link/secret",
    "{in}/file",
    "{in}2",
    "{in}/a\0b",
    "{in}/a\0/../../etc",
    "{in}/a\nb",
    "{in}/a\x1bb",
    "{in}/a\u2028b",
    "{in}/a\u202eb",
    "{in}/\ud800",
    "\u3000{in}",
    "{in}\u00a0",
    "{in}/" + "a" * 5000,
    "{in}/" + "a/" * 3000,
    "/",
    "/etc/passwd",
    "//etc/passwd",
    "etc/passwd",
    ".",
    "..",
    "~/x",
    "$HOME/x",
    "${env:HOME}/x",
    "{in}/%2e%2e/out",
    "{in}/%252e%252e/out",
    "{in}/%2E./out",
    "{in}/%" + "25" * 1000,
    "%2fetc/passwd",
    "/proc/self/cwd/../etc",
    "/proc/self/root/etc/passwd",
]


@pytest.mark.parametrize("given", OUTSIDE)
def test_paths_outside_are_refused(inside: Path, given: str) -> None:
    path = given.replace("{in}", str(inside))
    assert refused(path, inside) == list(PathReader)
    assert refused(f"file:{path}", inside) == list(PathReader)
    assert refused(f"file://{path}", inside) == list(PathReader)


URIS = [
    "{in}/\\.\\./out",
    "{in}/\\../out",
    "{in}/{a,b}",
    "{in}/{a,../../out}",
    "{in}/%7Ba,b%7D",
    "{in}/%5c.%5c./out",
    "file:/etc/passwd",
    "file:///etc/passwd",
    "FILE:/etc/passwd",
    "file://host{in}",
    "file://localhost/etc",
    "local:{in}",
    "viewfs:///in",
    "viewfs://x{in}",
    "har:///{in}",
    "http://h/x",
    "webhdfs://h/data",
    "hdfs://other/data",
    "hdfs:/data2",
    "s3a://lake/rawer",
    "s3a://lake",
    "s3a://lake/raw/../x",
    "s3a://lake/raw/%2e%2e/x",
    "s3a://lake/raw/{a,b}",
    "s3a://lake/raw/\\.\\./x",
    "s3a://other/raw",
    "s3://lake/raw",
    "s3a://key:secret@lake/raw",
    "s3a://key@lake/raw",
    "s3a://lake:80/raw",
    "s3a://lake?x/raw",
    "s3a://lake#/raw",
    "s3a:lake/raw",
    "data",
]


@pytest.mark.parametrize("given", URIS)
def test_uris_and_patterns_of_hadoop_that_leave_the_folders_are_refused(inside: Path, given: str) -> None:
    assert refused(given.replace("{in}", str(inside)), inside, *HADOOP) == list(HADOOP)


def test_a_refusal_names_the_path_and_the_allowed_folders(inside: Path) -> None:
    config: Any = {"connector__class": FILE, "file": "/etc/\x1b[2Jpasswd"}
    assert problems(limited_to([str(inside), "s3a://lake/raw"]), **config) == {
        "file": "/etc/\\x1b[2Jpasswd has a control character, which is not allowed with `penstock.paths.allowed` of "
        f"the worker: {inside}, s3a://lake/raw"
    }


def test_every_setting_with_a_path_is_checked(inside: Path) -> None:
    limited = limited_to([str(inside)])
    settings: list[tuple[str, str, dict[str, str]]] = [
        (FILE, "file", {}),
        (FILE.replace("Source", "Sink"), "file", {}),
        (SINK, "path", {}),
        (SOURCE, "path", {"checkpoint.location": str(inside)}),
        (SOURCE, "checkpoint.location", {"path": str(inside)}),
        ("penstock.connectors.PostgresSource", "database.sslrootcert", {}),
        ("penstock.connectors.PostgresSource", "database.sslcert", {}),
        ("penstock.connectors.PostgresSource", "database.sslkey", {}),
        ("io.confluent.connect.jdbc.JdbcSinkConnector", "connection.url", {}),
        ("io.confluent.connect.jdbc.JdbcSourceConnector", "connection.url", {}),
    ]
    for connector, key, more in settings:
        before = "jdbc:sqlite:" if key == "connection.url" else ""
        config: Any = {"connector__class": connector, **more}
        assert problems(limited, **config, **{key: f"{before}{inside}/x"}) == {}, (connector, key)
        for bad in ("/etc/x", f"{inside}/../out/x", f"{inside}/link/x", f"{inside}/a\x01b"):
            assert set(problems(limited, **config, **{key: f"{before}{bad}"})) == {key}, (connector, key, bad)


@pytest.mark.parametrize(
    "table", ["parquet.`/etc`", "csv.`x`", "delta.x", "`json`.x", " text . x", "a/b", "a:b", "a\\b", "%2f"]
)
def test_tables_that_are_folders_are_refused(inside: Path, table: str) -> None:
    config: Any = {"connector__class": SINK}
    assert set(problems(limited_to([str(inside)]), **config, table=table)) == {"table"}
    assert problems(limited_to([str(inside)]), **config, table="lake.flights.delays") == {}


def test_a_password_in_a_uri_is_refused_wherever_folders_are_allowed() -> None:
    config: Any = {"connector__class": SINK}
    assert "has a name and a password" in problems(limited_to(["/"]), **config, path="s3a://k:s@b/x")["path"]
    found = problems(limited_to(["abfss://c@a/x"]), **config, path="abfss://c@a/x/y")
    assert found == {}


def test_a_link_that_is_made_after_validation_is_not_followed(inside: Path) -> None:
    limit_to_folders([str(inside)])
    try:
        path = inside / "later"
        assert path_problem(str(path), [str(inside)], PathReader.OPEN) is None
        path.symlink_to(inside.parent / "out" / "secret")
        for flags in (os.O_RDONLY, os.O_WRONLY | os.O_APPEND | os.O_CREAT):
            with pytest.raises(ConnectError, match=r"is not in the folders of `penstock\.paths\.allowed`"):
                open_allowed(str(path), flags)
        path.unlink()
        (inside / "own").write_text("own")
        path.symlink_to(inside / "own")
        os.close(open_allowed(str(path), os.O_RDONLY))
        os.close(open_allowed(str(inside / "new"), os.O_WRONLY | os.O_CREAT))
        assert (inside / "new").exists()
    finally:
        limit_to_folders(None)


def test_files_of_a_batch_that_are_links_are_found(inside: Path) -> None:
    (inside / "a b").write_text("x")
    good = [f"file://{inside}/a%20b", "s3a://lake/raw/part-0"]
    assert outside(good, (str(inside), "s3a://lake/raw")) is None
    for bad in (f"file://{inside}/file", f"file:///{inside}/link/secret", "s3a://lake/other"):
        assert "is not in the folders of" in str(outside([*good, bad], (str(inside), "s3a://lake/raw")))
