"""The documentation site: it builds strictly, and its reference has everything there is."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html import unescape
from importlib import import_module
from pathlib import Path

import pytest

from penstock import api
from penstock.api.testing import contract
from penstock.commands._reference import SettingReference
from penstock.connectors.dlt import columns as dlt_columns
from penstock.connectors.jdbc.dialects import DIALECTS
from penstock.connectors.jdbc.source.mappings import types_of
from penstock.connectors.postgres.values.mappings import LEFT_OUT, MAPPINGS
from penstock.connectors.singer import schemas as singer_schemas
from penstock.http.openapi.document import OPERATIONS
from penstock.pipeline.converters.registry.mapping.type_table import FORMATS
from penstock.plugins import Plugins
from penstock.spark.query.sink.rows import columns
from penstock.spark.query.source import schemas as source_schemas
from penstock.wire.messages import MessageCodec
from penstock.worker.monitoring.prometheus_text import described, full_name

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    made = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    return folder


def text(page: Path) -> str:
    return unescape(re.sub(r"<[^>]+>", "", page.read_text("utf-8")))


def test_every_page_of_the_docs_is_in_it(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs").with_suffix("") / "index.html").exists(), page


def test_every_setting_is_in_the_reference(site: Path) -> None:
    shown = "\n".join(text(page) for page in (site / "reference").rglob("*.html"))
    words = set(shown.split())
    settings = {key for owner in SettingReference(Plugins.discover().catalog).owners for key in owner.settings}
    assert len(settings) > 400
    assert settings - words == set()


def test_settings_say_what_differs_from_java(site: Path) -> None:
    def row(page: str, setting: str) -> str:
        rows = re.findall(r"<tr>.*?</tr>", (site / "reference" / page / "index.html").read_text("utf-8"), re.DOTALL)
        (found,) = {each for each in rows if f"<code>{setting}</code></td>" in each}
        return unescape(re.sub(r"<[^>]+>", "", found))

    assert "Not in Java Connect." in row("worker", "penstock.config.strict")
    assert "Refused here: TLS is Python's own." in row("worker", "ssl.provider")
    assert "Without effect here: rates are taken over half a minute." in row("worker", "metrics.num.samples")
    assert "int, 5000, low" in row("worker", "task.shutdown.graceful.timeout.ms").replace("long", "int")
    assert "here" not in row("worker", "offset.flush.interval.ms")


def test_plugins_are_described(site: Path) -> None:
    shown = {page: text(site / "reference" / page / "index.html") for page in ("connectors", "providers")}
    assert "Writes records of topics to tables of a database by JDBC." in shown["connectors"]
    assert "${env:NAME}: a variable of the worker's environment" in shown["providers"]
    assert "config.providers.<alias>.param." in shown["providers"]


def test_every_request_and_command_is_in_the_reference(site: Path) -> None:
    requests = text(site / "reference" / "rest" / "index.html")
    assert [name for name in OPERATIONS if name not in requests] == []
    commands = text(site / "reference" / "commands" / "index.html")
    modules = [each.stem for each in (ROOT / "src/penstock/commands").glob("[a-z]*.py")]
    assert [name for name in modules if f"penstock {name}" not in commands] == []


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    headings = re.findall(r"<h3[^>]*>(.*?)<", (site / "reference" / "api" / "index.html").read_text("utf-8"))
    shown = {name for heading in headings for name in heading.split(", ")}
    assert {*api.__all__, *contract.__all__, "MemorySourceContext", "MemorySinkContext", "sink_record"} - shown == set()
    provisional = {"leashed", "leashed_beside", "TAPS_ALLOWED", "SINGER_TAP"}
    assert provisional - shown == set()
    assert "penstock.api.patterns" in text(site / "reference" / "api" / "index.html")


def test_every_metric_is_in_the_reference(site: Path) -> None:
    shown = set(text(site / "reference" / "metrics" / "index.html").split())
    assert {full_name(type, name) for type, name, _ in described()} - shown == set()
    assert {"process_resident_memory_bytes", "process_cpu_seconds_total"} <= shown


def test_every_message_between_processes_is_in_the_reference(site: Path) -> None:
    headings = re.findall(r"<h3[^>]*>(.*?)<", (site / "reference" / "messages" / "index.html").read_text("utf-8"))
    codecs = [
        value
        for file in (ROOT / "src/penstock").rglob("*.py")
        if "messages" in file.with_suffix("").parts
        and "core" not in file.relative_to(ROOT).parts
        and file.name != "__init__.py"
        and file.parent.name != "wire"
        for value in vars(import_module(".".join(file.relative_to(ROOT / "src").with_suffix("").parts))).values()
        if isinstance(value, MessageCodec)
    ]
    assert len(codecs) > 2
    assert {message.__name__ for codec in codecs for message in codec.classes} - set(headings) == set()


def test_every_recorded_call_is_in_the_reference(site: Path) -> None:
    shown = text(site / "reference" / "calls" / "index.html")
    modes = json.loads((ROOT / "tests/calls/java.json").read_text("utf-8"))["modes"]
    calls = {name for states in modes.values() for cells in states.values() for name in cells}
    assert len(calls) > 20
    assert [each for each in (*calls, "Where it differs here") if each not in shown] == []


def test_every_type_of_the_registrys_formats_is_in_the_reference(site: Path) -> None:
    shown = text(site / "reference" / "types" / "index.html")
    assert [format for format in FORMATS if format not in shown] == []
    assert [row for rows in FORMATS.values() for row in rows if row.foreign not in shown] == []
    assert "0 to 4294967295" in shown


def test_every_type_of_a_database_is_in_the_reference(site: Path) -> None:
    shown = text(site / "reference" / "types" / "index.html")
    names = {type.name for dialect in DIALECTS for type in types_of(dialect.name)}
    assert [name for name in names if name not in shown] == []
    assert shown.count("Not tested") == 2


def test_every_type_of_postgres_source_is_in_the_reference(site: Path) -> None:
    shown = text(site / "reference" / "types" / "index.html")
    assert [each.name for each in MAPPINGS if each.name not in shown] == []
    assert [name for name in LEFT_OUT if name.upper() not in shown] == []
    assert "VariableScaleDecimal (STRUCT)" in shown
    assert "microseconds of 64 bits; a month has 30.4375 days" in shown


def test_every_type_of_a_table_is_in_the_reference(site: Path) -> None:
    shown = text(site / "reference" / "types" / "index.html")
    spark = {kind.simpleString() for kind in (*columns.PRIMITIVES.values(), *columns.SCHEMALESS.values())}
    read = {kind.typeName() for kind in source_schemas.PRIMITIVES}
    assert [
        name for name in spark | read | set(dlt_columns.TYPES) | set(singer_schemas.PRIMITIVES) if name not in shown
    ] == []
    assert [name for name in ("Spark", "Singer", "dlt", "JSON") if name not in shown] == []


def test_lines_of_the_log_are_in_the_reference(site: Path) -> None:
    shown = text(site / "reference" / "log" / "index.html")
    assert "penstock.connectors.file_source" in shown
    assert "File %s was replaced; reading %s from its beginning" in shown


def test_differences_are_on_one_page(site: Path) -> None:
    shown = text(site / "differences" / "index.html").split()
    assert {"metric.reporters", "metrics.num.samples", "batch.size", "penstock.config.strict"} <= set(shown)


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    fetched = re.compile(r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="(https?:)?//')
    assert [page for page in site.rglob("*.html") if fetched.search(page.read_text("utf-8"))] == []
