"""Compare a lock file with a file of advisories, offline: ``python scripts/audit.py requirements.lock FILE``.

The file has advisories as OSV has them (one, a list, ``{"vulns": [...]}``, or one per line), or PyPI's answers about
releases (``https://pypi.org/pypi/<name>/<version>/json``). Exit status 0: none applies; 1: some do, one line each with
name, version, id and the versions that are fixed; 2: a file can't be read.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version


class AuditError(Exception):
    """A file that can't be understood; a sentence."""


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    version: Version
    ids: tuple[str, ...]
    """The advisory's own, and those by which others know it."""
    fixed: tuple[str, ...]

    def __str__(self) -> str:
        advice = f"fixed in {', '.join(self.fixed)}" if self.fixed else "no fixed version is known"
        return f"{self.name} {self.version}: {', '.join(self.ids)}; {advice}"


def locked(text: str) -> list[tuple[str, Version]]:
    """Return the packages of a lock file, some in several versions for different systems. Raises AuditError."""
    found = []
    for line in text.splitlines():
        if not line or line.startswith((" ", "#", "-")):
            continue
        try:
            wanted = Requirement(line.rstrip("\\").strip())
            (pin,) = wanted.specifier
            found.append((canonicalize_name(wanted.name), Version(pin.version)))
        except (InvalidRequirement, InvalidVersion, ValueError) as error:
            raise AuditError(f"`{line}` is not a pinned requirement: {error}") from error
    return found


def advisories(text: str) -> list[dict[str, Any]]:
    """Raises AuditError."""
    try:
        document = json.loads(text)
    except ValueError:
        try:
            document = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as error:
            raise AuditError(f"it is neither JSON nor a line of JSON for each advisory: {error}") from error
    if isinstance(document, dict) and "vulns" in document:
        document = document["vulns"]
    found = document if isinstance(document, list) else [document]
    for each in found:
        if not isinstance(each, dict) or not ({"affected", "vulnerabilities"} & each.keys()):
            raise AuditError(f"this is no advisory of OSV or PyPI: {json.dumps(each)[:80]}")
    return found


def findings(packages: list[tuple[str, Version]], known: list[dict[str, Any]]) -> list[Finding]:
    """Return the advisories that apply, by name and ID."""
    found = [
        finding
        for name, version in packages
        for advisory in known
        for finding in (*_of_osv(name, version, advisory), *_of_pypi(name, version, advisory))
    ]
    return sorted(set(found), key=lambda each: (each.name, each.version, each.ids))


def _of_osv(name: str, version: Version, advisory: dict[str, Any]) -> Iterator[Finding]:
    if advisory.get("withdrawn"):
        return
    for affected in advisory.get("affected", ()):
        package = affected.get("package", {})
        if package.get("ecosystem") != "PyPI" or canonicalize_name(package.get("name", "")) != name:
            continue
        events = [each.get("events", []) for each in affected.get("ranges", ()) if each.get("type") != "GIT"]
        listed = any(_version(each) == version for each in affected.get("versions", ()))
        if listed or any(_in_range(version, each) for each in events):
            fixed = {event["fixed"] for each in events for event in each if "fixed" in event}
            yield _finding(name, version, advisory, fixed)


def _of_pypi(name: str, version: Version, answer: dict[str, Any]) -> Iterator[Finding]:
    """Yield the findings of one release; they also apply to another one unless a version up to it has the fix."""
    if canonicalize_name(answer.get("info", {}).get("name", "")) != name:
        return
    same = _version(answer["info"].get("version", "")) == version
    for each in answer.get("vulnerabilities", ()):
        fixed = {text for text in each.get("fixed_in") or () if _version(text) is not None}
        if not each.get("withdrawn") and (same or all(Version(text) > version for text in fixed)):
            yield _finding(name, version, each, fixed)


def _finding(name: str, version: Version, advisory: dict[str, Any], fixed: set[str]) -> Finding:
    later = sorted((text for text in fixed if (known := _version(text)) and known > version), key=Version)
    return Finding(name, version, (advisory["id"], *advisory.get("aliases", ())), tuple(later))


def _in_range(version: Version, events: list[dict[str, str]]) -> bool:
    """Return whether the version is affected: by OSV's rules, the last event up to it counts."""
    affected = False
    for kind, text in sorted(((k, v) for event in events for k, v in event.items()), key=_order):
        at = Version("0") if text == "0" else _version(text)
        if at is None:
            continue
        if kind == "introduced" and (text == "0" or version >= at):
            affected = True
        elif (kind in ("fixed", "limit") and version >= at) or (kind == "last_affected" and version > at):
            affected = False
    return affected


def _order(event: tuple[str, str]) -> tuple[Version, bool]:
    kind, text = event
    return _version(text) or Version("0"), kind != "introduced"


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


def main(lock: str, file: str) -> int:
    try:
        packages, known = locked(Path(lock).read_text("utf-8")), advisories(Path(file).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, AuditError) as error:
        print(f"audit: {file if not isinstance(error, OSError) else error.filename}: {error}", file=sys.stderr)
        return 2
    found = findings(packages, known)
    for each in found:
        print(each)
    print(f"{len(packages)} packages in {lock}, {len(known)} advisories, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    if len(sys.argv) != 3 or not re.search(r"\S", sys.argv[2]):
        sys.exit("usage: make audit FILE=advisories.json, a file of advisories in the format of OSV or PyPI")
    sys.exit(main(sys.argv[1], sys.argv[2]))
