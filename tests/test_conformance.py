"""``make conformance`` where there is no suite, as in a clone of the repository alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import conformance


def test_it_says_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=f"^conformance: there is no suite in {tmp_path}; `make conformance CONF"):
        conformance.main(tmp_path)
