"""``make soak-values``: 10,000 values of each type past foreign readers, in pieces whose counts are kept and continued.

A piece runs the tests of types until its time is over. Each path (a test with its database and type) adds to its count
in a file of one JSON object per line, and is left out once it has the requested number.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soak.report import Outcome

TESTS = (
    "tests/pipeline/converters/registry/test_type_table.py",
    "tests/connectors/postgres/test_type_values.py",
    "tests/spark/query/jdbc/test_jdbc_types.py",
    "tests/spark/query/sink/tables/test_format_values.py",
)
KEPT, SEED, ENDS = "PENSTOCK_TEST_VALUES_KEPT", "PENSTOCK_TEST_VALUES_SEED", "PENSTOCK_TEST_VALUES_ENDS"
"""Environment variables of the tests: the file of counts, the seed, and the end time in seconds of ``time.time``."""


@dataclass(frozen=True, slots=True)
class KeptCounts:
    """Counts of values by path, in a file that is appended to."""

    file: Path

    def add(self, path: str, values: int, seed: int, failure: str = "") -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a") as lines:
            lines.write(json.dumps({"path": path, "values": values, "seed": seed, "failure": failure}) + "\n")

    def totals(self) -> Counter[str]:
        """Return the values that arrived unchanged, by path, in all pieces."""
        found: Counter[str] = Counter()
        for line in self._lines():
            found[line["path"]] += line["values"]
        return found

    def failures(self) -> dict[str, str]:
        """Return the failures by path; one is over once a later run of its path has had none."""
        found: dict[str, str] = {}
        for line in self._lines():
            found.pop(line["path"], None)
            if line["failure"]:
                found[line["path"]] = f"{line['failure']} (seed {line['seed']})"
        return found

    def _lines(self) -> Iterator[dict[str, Any]]:
        if self.file.exists():
            yield from map(json.loads, self.file.read_text().splitlines())


def run(number: int, seed: int, minutes: float, kept: Path, only: str) -> Outcome:
    """Run one piece. Violations are values that changed, and paths that have too few values yet."""
    counts = KeptCounts(kept.resolve())
    environment = {
        **os.environ,
        "PENSTOCK_TEST_VALUES": str(number),
        KEPT: str(counts.file),
        SEED: str(seed),
        ENDS: str(time.time() + minutes * 60),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS, *(["-k", only] if only else [])]
    return judged(counts, number, subprocess.run(command, env=environment).returncode)


def judged(counts: KeptCounts, number: int, status: int = 0) -> Outcome:
    """Return the counts of all pieces; ``status``: the exit status of pytest in the last one."""
    totals, failures = counts.totals(), counts.failures()
    violations = [f"{path}: {failure}" for path, failure in sorted(failures.items())]
    if status and not failures:
        violations.append(f"pytest ended with status {status}")
    violations += [
        f"{path}: {total:,} of {number:,} values so far, run it again"
        for path, total in sorted(totals.items())
        if total < number and path not in failures
    ]
    figures: dict[str, object] = {path: f"{total:,} values" for path, total in sorted(totals.items())}
    return Outcome({**figures, "values": sum(totals.values())}, violations)
