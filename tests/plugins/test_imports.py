"""A plugin that changes the process when it is imported: the worker's log and its end stay as they are."""

from __future__ import annotations

import logging
import signal
import sys
from pathlib import Path

import pytest

from penstock.api.transform import Transformation
from penstock.plugins.path import find_classes

CODE = """
import logging.config
import signal
from penstock.api.transform import Transformation

logging.config.dictConfig(
    {
        "version": 1,
        "handlers": {"own": {"class": "logging.StreamHandler"}},
        "root": {"handlers": ["own"], "level": "ERROR"},
    }
)
signal.signal(signal.SIGTERM, lambda *_: None)


class Quiet(Transformation):
    pass
"""


def test_changes_made_by_a_plugin_s_import_are_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", sys.path[:])
    root, own = logging.getLogger(), logging.getLogger("penstock.worker.loop")
    before = list(root.handlers), root.level, signal.getsignal(signal.SIGTERM)
    (tmp_path / "changes_everything.py").write_text(CODE)
    found = find_classes([str(tmp_path)], (Transformation,))
    assert "changes_everything.Quiet" in [each.name for each in found]
    assert (list(root.handlers), root.level, signal.getsignal(signal.SIGTERM)) == before
    assert not own.disabled
