"""The properties of the worker of ``penstock run``."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.settings import load_settings
from penstock.trial.session import worker_properties


@pytest.mark.parametrize("place", ["/home/jörg/мои/プラグイン", r"/home/a\b c"])
def test_a_plugin_may_be_in_any_folder(tmp_path: Path, place: str) -> None:
    file = tmp_path / "worker.properties"
    file.write_text(worker_properties("localhost:9092", 8083, Path(place), Path("/tmp/é")))
    read = load_settings(file, standalone=True)
    assert (read.plugin_path, read.offset_file) == ((place,), "/tmp/é/offsets")
    assert read.config["value.converter.schemas.enable"] == "false"
