"""The catalog of a sink: whose properties it has, which classes it loads, and which tables can be written."""

from __future__ import annotations

import http.server
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pyiceberg.catalog
import pytest
from pyiceberg import types as i
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.schema import Schema
from pyiceberg.utils.config import Config

from penstock.api.drift import SchemaDrift
from penstock.api.errors import ConfigError, ConnectError
from penstock.spark.query.iceberg.catalog import IcebergTable
from penstock.spark.query.iceberg.files import WrittenTable
from spark.query.iceberg import lake

SECRET = "id:secret-of-the-worker"


class Server(http.server.ThreadingHTTPServer):
    """A REST catalog that answers with one table, and remembers what it is sent."""

    def __init__(self, metadata: dict[str, Any], config: dict[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.config = config
        self.table = {"metadata-location": "file:///x", "metadata": metadata, "config": config}
        self.seen: list[str] = []


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        of_catalog = {"defaults": self.server.config, "overrides": {}}
        self._answer(of_catalog if "/config" in self.path else self.server.table)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        self.server.seen.append(body)
        self._answer({"access_token": "token", "token_type": "bearer"})

    def _answer(self, body: dict[str, Any]) -> None:
        self.server.seen.append(str(self.headers))
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def server(place: Path, config: dict[str, str]) -> Iterator[Server]:
    lake.made(place)
    metadata = json.loads(lake.catalog(place).load_table(lake.NAME).metadata.model_dump_json())
    with Server(metadata, config) as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        try:
            yield found
        finally:
            found.shutdown()
            thread.join()


def of_rest(place: Path, server: Server, **more: str) -> IcebergTable:
    address = {"iceberg.catalog.type": "rest", "iceberg.catalog.uri": f"http://127.0.0.1:{server.server_port}"}
    return IcebergTable(lake.settings(place, **address, **more), SchemaDrift.EVOLVE)


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return the calls of a class ``foreign_io.IO``, which can be imported."""
    found: list[object] = []
    module = ModuleType("foreign_io")
    module.IO = lambda properties: found.append(properties) or PyArrowFileIO(properties)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "foreign_io", module)
    return found


@pytest.mark.security
def test_a_catalog_gets_no_properties_of_the_workers_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connector that names the worker's catalog and another server does not have the secret sent there."""
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__CREDENTIAL", SECRET)
    monkeypatch.setattr(pyiceberg.catalog, "_ENV_CONFIG", Config())
    with server(tmp_path, {}) as found:
        assert of_rest(tmp_path, found, **{"iceberg.catalog": "prod"}).find() is not None
        assert found.seen
        assert not [each for each in found.seen if "secret-of-the-worker" in each]


@pytest.mark.security
def test_a_server_of_a_catalog_has_no_class_loaded(tmp_path: Path, loaded: list[object]) -> None:
    with server(tmp_path, {"py-io-impl": "foreign_io.IO"}) as found:
        table = of_rest(tmp_path, found).find()
    assert isinstance(table.io, PyArrowFileIO)
    assert not loaded


@pytest.mark.security
def test_a_property_of_a_table_has_no_class_loaded(tmp_path: Path, loaded: list[object]) -> None:
    lake.made(tmp_path)
    with lake.catalog(tmp_path).load_table(lake.NAME).transaction() as change:
        change.set_properties({"py-io-impl": "foreign_io.IO"})
    loaded.clear()  # by the foreign writer above
    run = lake.Run(tmp_path).claim()
    assert run.write(1, 1)
    assert not loaded
    assert lake.ids(tmp_path) == [1]


@pytest.mark.security
def test_writers_of_files_get_no_properties_of_the_catalog(tmp_path: Path) -> None:
    lake.made(tmp_path)
    with lake.catalog(tmp_path).load_table(lake.NAME).transaction() as change:
        change.set_properties({"owner.note": "a note", "write.parquet.page-row-limit": "10"})
    more = {"iceberg.catalog.credential": SECRET, "iceberg.catalog.s3.endpoint": "http://store"}
    table = IcebergTable(lake.settings(tmp_path, **more), SchemaDrift.EVOLVE).load()
    sent = WrittenTable.of(table, {}, ignores_case=False, prefix="x").encoded().decode()
    assert "http://store" in sent
    assert "page-row-limit" in sent
    for other in (SECRET, "sqlite://", "a note", "penstock.sink"):
        assert other not in sent


@pytest.mark.parametrize(("version", "said"), [(1, "upgrade it"), (3, "write to a table of version 2")])
def test_tables_of_other_format_versions_are_refused_at_the_start(tmp_path: Path, version: int, said: str) -> None:
    catalog = lake.catalog(tmp_path)
    catalog.create_namespace("shop")
    schema = Schema(i.NestedField(1, "id", i.LongType()))
    table = catalog.create_table(lake.NAME, schema, properties={"format-version": str(min(version, 2))})
    if version == 3:  # which pyiceberg reads, and does not write
        place = Path(table.metadata_location.removeprefix("file://"))
        place.write_text(json.dumps({**json.loads(place.read_text()), "format-version": 3, "next-row-id": 0}))
    with pytest.raises(ConnectError, match=f"of format version {version}.*{said}"):
        lake.Run(tmp_path).table.load()


def test_without_a_folder_for_new_tables_the_setting_is_named(tmp_path: Path) -> None:
    more = {"iceberg.catalog.warehouse": ""}
    given = {name: value for name, value in lake.config(tmp_path, **more).items() if value}
    with pytest.raises(ConfigError, match=r"iceberg\.catalog\.warehouse.*is missing"):
        IcebergTable(lake.settings_of(given), SchemaDrift.EVOLVE).prepared(lake.COLUMNS)


@pytest.mark.parametrize("name", ["iceberg.tables.default-commit-branch", "iceberg.table.shop.flights.commit-branch"])
def test_a_tag_is_no_branch_for_commits(tmp_path: Path, name: str) -> None:
    table = lake.made(tmp_path).table.load()
    table.manage_snapshots().create_tag(table.current_snapshot().snapshot_id, "v1").commit()
    run = lake.Run(tmp_path, branch="v1", **{name: "v1"})
    with pytest.raises(ConfigError, match=rf"v1 .*{name}: is a tag of shop.flights"):
        run.claim()
