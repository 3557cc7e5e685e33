"""The cases with a registry: contents of their topics, and the configuration of Java's cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.cases import BESIDE, CASES, GOALS
from bench.connect import CaseError
from bench.formats import CONVERTERS, SINKS, SOURCES, _converter
from bench.setting import Setting


class Java:
    name = "java"


def test_every_format_has_a_case_in_both_directions_and_a_goal() -> None:
    assert {*SOURCES, *SINKS} <= CASES.keys()
    with_registry = {f"{side}-{format}" for side in ("source", "sink") for format in CONVERTERS if format != "envelope"}
    assert with_registry <= GOALS.keys()


def test_java_runs_the_formats_whose_converters_can_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting("127.0.0.1:1", tmp_path, 1)
    monkeypatch.setattr(Setting, "registry", "http://127.0.0.1:8081/apis/ccompat/v7")
    config = _converter("avro", Java(), setting)  # type: ignore[arg-type]
    assert config["value.converter.apicurio.registry.url"] == "http://127.0.0.1:8081/apis/registry/v2"
    assert {"source-json-schema", "source-protobuf", "sink-json-schema", "sink-protobuf"} == BESIDE.keys()
    with pytest.raises(CaseError, match="protobuf"):
        _converter("protobuf", Java(), setting)  # type: ignore[arg-type]
