"""Write a software bill of materials: ``python scripts/sbom.py FILE``, CycloneDX 1.6 as JSON.

It has the packages of ``requirements.lock``, of which those that an installation has are ``required`` and those of
optional parts, tests and development ``optional``, and the Java artefacts that the product fetches when they are first
used, all with the hashes that are checked. Equal inputs make an equal file, so a rebuild can be compared.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
_PACKAGE = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)([^\n]*)\n((?:    [^\n]*\n?)*)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_VIA = re.compile(r"^    #   (?:via )?([A-Za-z0-9._-]+)|^    # via ([A-Za-z0-9._-]+)", re.MULTILINE)
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "penstock.sbom")


@dataclass(frozen=True, slots=True)
class Locked:
    """A package of the lock file; ``via`` are the packages that need it."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]
    via: tuple[str, ...]

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{canonicalize_name(self.name)}@{self.version}"


def locked(text: str) -> list[Locked]:
    """Return the packages of a lock file of ``uv pip compile``."""
    found = []
    for name, version, rest, below in _PACKAGE.findall(text):
        marker = rest.partition(";")[2].rstrip(" \\").strip()
        via = tuple(canonicalize_name(each or other) for each, other in _VIA.findall(below))
        found.append(Locked(name, version, marker, tuple(_HASH.findall(rest + below)), via))
    return found


def required(packages: list[Locked], names: set[str]) -> set[str]:
    """Return the names of these packages and of all that they need."""
    needs: dict[str, set[str]] = {}
    for each in packages:
        for user in each.via:
            needs.setdefault(user, set()).add(canonicalize_name(each.name))
    found, waiting = set[str](), set(names)
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= needs.get(name, set()) - found
    return found


def jars(source: Path) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield group, artifact, version, type and SHA-256 of each Java artefact whose checksum is in the source."""
    for file in sorted(source.rglob("*.jars")):
        for line in file.read_text("utf-8").splitlines():
            if line and not line.startswith("#"):
                sha256, coordinates = line.split()
                group, artifact, version = coordinates.split(":")[:3]
                yield group, artifact, version, "jar", sha256
    for file in sorted(source.rglob("*.py")):
        text = file.read_text("utf-8")
        if "Jar(" in text or "Archive(" in text:
            yield from _calls(text)


def _calls(text: str) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield the artefacts that a module names by ``Jar(...)`` and ``Archive(...)`` with texts."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Jar", "Archive"):
            given = [text for each in node.args for text in _texts(each)]
            if len(given) >= 4 and re.fullmatch("[0-9a-f]{64}", given[0]):
                sha256, group, artifact, version, *classifier = given
                kind = (
                    "jar" if node.func.id == "Jar" else "&".join(["tar.gz", *map("classifier={}".format, classifier)])
                )
                yield group, artifact, version, kind, sha256


def _texts(argument: ast.expr) -> list[str]:
    match argument:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.Starred(value=ast.Tuple(elts=each)):
            return [text for element in each for text in _texts(element)]
        case _:
            return []


def bill(root: Path = ROOT) -> dict[str, Any]:
    """Return the document."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    packages = locked((root / "requirements.lock").read_text())
    direct = {canonicalize_name(Requirement(each).name) for each in project["dependencies"]}
    needed = required(packages, direct)
    components = [_python(each, canonicalize_name(each.name) in needed) for each in packages]
    java = {f"pkg:maven/{g}/{a}@{v}?type={kind}": (g, a, v, sha256) for g, a, v, kind, sha256 in jars(root / "src")}
    components += [_java(purl, *each) for purl, each in sorted(java.items())]
    own = f"pkg:pypi/{project['name']}@{_version(root)}"
    refs = {canonicalize_name(each.name): each.purl for each in packages}
    depends: dict[str, set[str]] = {own: {refs[name] for name in direct if name in refs}}
    for each in packages:
        depends.setdefault(each.purl, set())
        for user in each.via:
            if user in refs:
                depends.setdefault(refs[user], set()).add(each.purl)
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": project["name"],
                "version": _version(root),
                "description": project["description"],
                "purl": own,
            }
        },
        "components": components,
        "dependencies": [{"ref": ref, "dependsOn": sorted(needs)} for ref, needs in sorted(depends.items())],
    }
    serial = uuid.uuid5(_NAMESPACE, json.dumps(document, sort_keys=True))
    return {**document, "serialNumber": f"urn:uuid:{serial}"}


def _version(root: Path) -> str:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    if "version" in project:
        return str(project["version"])
    found = re.search(r'__version__ = "([^"]+)"', (root / "src" / "penstock" / "__init__.py").read_text())
    assert found is not None
    return found[1]


def _python(package: Locked, is_needed: bool) -> dict[str, Any]:
    name = canonicalize_name(package.name)
    files = {
        "type": "distribution",
        "url": f"https://pypi.org/project/{name}/{package.version}/#files",
        "comment": "One hash for each file of the release.",
        "hashes": [{"alg": "SHA-256", "content": each} for each in package.hashes],
    }
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": package.purl,
        "name": name,
        "version": package.version,
        "scope": "required" if is_needed else "optional",
        "purl": package.purl,
        "externalReferences": [files],
    }
    if package.marker:
        found["properties"] = [{"name": "penstock:marker", "value": package.marker}]
    return found


def _java(purl: str, group: str, artifact: str, version: str, sha256: str) -> dict[str, Any]:
    return {
        "type": "library",
        "bom-ref": purl,
        "group": group,
        "name": artifact,
        "version": version,
        "scope": "optional",
        "hashes": [{"alg": "SHA-256", "content": sha256}],
        "purl": purl,
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(bill(), indent=1) + "\n", "utf-8")
