"""A plugin that changes the process when it is imported: the worker's log and its end stay as they are."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from pathlib import Path

import pytest

from penstock.api.transform import Transformation
from penstock.plugins.imports import undisturbed
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


def test_of_two_imports_at_a_time_neither_keeps_what_the_other_has_changed() -> None:
    """The second one took the changes of the first for what was there before, and kept them."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    inside, go_on = threading.Event(), threading.Event()

    def first() -> None:
        with undisturbed():
            root.handlers[:] = [logging.StreamHandler()]
            root.setLevel(logging.ERROR)
            inside.set()
            go_on.wait(60)

    def second() -> None:
        inside.wait(60)
        with undisturbed():
            assert go_on.is_set()

    threads = [threading.Thread(target=each) for each in (first, second)]
    for each in threads:
        each.start()
    inside.wait(60)
    threads[1].join(0.2)
    go_on.set()
    for each in threads:
        each.join(60)
    assert (list(root.handlers), root.level) == (before, level)
