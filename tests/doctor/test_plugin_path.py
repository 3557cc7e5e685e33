"""The folders of ``plugin.path`` as the doctor sees them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from penstock.doctor.examination import examine
from penstock.doctor.findings import Verdict

PLUGIN = """
from penstock.api.converter import Converter


class DoctorsConverter(Converter):
    @classmethod
    def version(cls):
        return "1"
"""


def test_a_folder_may_be_in_the_users_own_as_for_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "doctors_plugin.py").write_text(PLUGIN)
    properties = tmp_path / "worker.properties"
    properties.write_text("plugin.path=~/plugins,~/missing\nkey.converter=doctors_plugin.DoctorsConverter\n")
    (worker,) = examine(properties, standalone=True).sections
    found = [each for each in worker.findings if each.subject == "key.converter" and "DoctorsConverter" in each.says]
    assert [each.verdict for each in found] == [Verdict.WORKS]
