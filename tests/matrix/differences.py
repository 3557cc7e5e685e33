"""Observations of ``test_version_differences.py`` on each version of Spark, and which of them differ."""

from __future__ import annotations

import json
from pathlib import Path

Observed = dict[str, str]
"""Results by what was looked at."""

OBSERVES = "_observed"
"""Part of the names of the tests that observe."""
GOLDEN = Path(__file__).parents[1] / "spark" / "query" / "golden" / "version_differences.json"


def observed() -> dict[str, Observed]:
    """Return what is kept, by version."""
    return dict(json.loads(GOLDEN.read_text())) if GOLDEN.exists() else {}


def differences() -> tuple[dict[str, dict[str, str | None]], Observed]:
    """Return what differs, with the results by version, and what is the same on all."""
    kept = observed()
    titles = dict.fromkeys(title for each in kept.values() for title in each)
    results = {title: {version: found.get(title) for version, found in kept.items()} for title in titles}
    same = {title: str(one) for title, found in results.items() for one in set(found.values()) if _alike(found)}
    return {title: found for title, found in results.items() if title not in same}, same


def _alike(found: dict[str, str | None]) -> bool:
    return len(set(found.values())) == 1
