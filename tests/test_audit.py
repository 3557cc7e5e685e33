"""``make audit``: the lock file against a file of advisories, offline."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
LOCK = """\
# made by a test
one-package==1.4.2 \\
    --hash=sha256:00
two==2.0.0 ; python_full_version < '3.12' \\
    --hash=sha256:00
two==2.1.0 ; python_full_version >= '3.12' \\
    --hash=sha256:00
three==3.0rc1
"""


def osv(id: str, name: str, *events: dict[str, str], **more: Any) -> dict[str, Any]:
    package = {"ecosystem": more.pop("ecosystem", "PyPI"), "name": name}
    affected = {"package": package, "ranges": [{"type": "ECOSYSTEM", "events": list(events)}]}
    return {"id": id, "affected": [{**affected, "versions": more.pop("versions", [])}], **more}


def audit(folder: Path, content: Any) -> tuple[int, list[str], str]:
    lock, file = folder / "lock", folder / "advisories.json"
    lock.write_text(LOCK)
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    command = [sys.executable, str(ROOT / "scripts" / "audit.py"), str(lock), str(file)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout.splitlines()[:-1], ran.stderr


def test_applicable_advisories_are_listed_with_the_remedy(tmp_path: Path) -> None:
    known = [
        osv("GHSA-1", "One_Package", {"introduced": "0"}, {"fixed": "1.4.3"}, aliases=["CVE-2026-1"]),
        osv("GHSA-2", "two", {"introduced": "2.0"}, {"last_affected": "2.0.5"}),
        osv("GHSA-3", "three", versions=["3.0RC1"]),
    ]
    wanted = [
        "one-package 1.4.2: GHSA-1, CVE-2026-1; fixed in 1.4.3",
        "three 3.0rc1: GHSA-3; no fixed version is known",
        "two 2.0.0: GHSA-2; no fixed version is known",
    ]
    assert audit(tmp_path, known) == (1, wanted, "")
    assert audit(tmp_path, {"vulns": known}) == (1, wanted, "")
    assert audit(tmp_path, "\n".join(map(json.dumps, known))) == (1, wanted, "")


def test_inapplicable_advisories_are_not_listed(tmp_path: Path) -> None:
    known = [
        osv("A", "one-package", {"introduced": "0"}, {"fixed": "1.4.2"}),
        osv("B", "one-package", {"introduced": "1.5"}),
        osv("C", "one-package", {"introduced": "0"}, {"fixed": "1.0"}, {"introduced": "1.4.3"}),
        osv("D", "one-package", {"introduced": "0"}, withdrawn="2026-01-01T00:00:00Z"),
        osv("E", "one-package", {"introduced": "0"}, ecosystem="npm"),
        osv("F", "another", {"introduced": "0"}),
        osv("G", "three", {"introduced": "3.0"}),  # a release candidate is before it
    ]
    assert audit(tmp_path, known) == (0, [], "")
    assert audit(tmp_path, known[0]) == (0, [], "")


def test_answers_of_pypi(tmp_path: Path) -> None:
    of_release = {
        "info": {"name": "two", "version": "2.0.0"},
        "vulnerabilities": [{"id": "PYSEC-1", "aliases": ["CVE-2"], "fixed_in": ["1.9.1", "2.0.7"]}],
    }
    assert audit(tmp_path, of_release) == (1, ["two 2.0.0: PYSEC-1, CVE-2; fixed in 2.0.7"], "")


@pytest.mark.parametrize(
    ("content", "problem"), [("{", "neither JSON nor"), ("[1]", "no advisory of OSV or PyPI"), ("{}", "no advisory")]
)
def test_a_file_that_cannot_be_understood(tmp_path: Path, content: str, problem: str) -> None:
    status, _, said = audit(tmp_path, content)
    assert status == 2
    assert problem in said


def test_the_target_reads_the_lock_file_of_the_project(tmp_path: Path) -> None:
    file = tmp_path / "advisories.json"
    file.write_text(json.dumps([osv("X", "pyspark", {"introduced": "0"})]))
    ran = subprocess.run(
        ["make", "-s", "-o", ".venv/.installed", "audit", f"FILE={file}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2  # make's own, for a command that has failed
    assert "pyspark 4.2.0: X; no fixed version is known" in ran.stdout
