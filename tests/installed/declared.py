"""The distributions that one declares as its dependencies, and links to their files."""

from __future__ import annotations

import csv
import sysconfig
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

SITE = Path(sysconfig.get_path("purelib"))


def closure(of: Distribution, extras: Iterable[str]) -> set[str]:
    """Return the names of all dependencies with these extras, direct or not. Fails if one is not installed here."""
    found: set[tuple[str, str]] = set()
    waiting = [(of, extra) for extra in ("", *extras)]
    while waiting:
        each, extra = waiting.pop()
        for wanted in map(Requirement, each.requires or ()):
            if wanted.marker is not None and not wanted.marker.evaluate({"extra": extra}):
                continue
            needed = distribution(wanted.name)
            assert wanted.specifier.contains(needed.version, prereleases=True), f"{each.name} needs {wanted}"
            new = {(canonicalize_name(wanted.name), more) for more in ("", *wanted.extras)} - found
            found |= new
            waiting += [(needed, more) for _, more in new]
    return {name for name, _ in found} - {canonicalize_name(of.name)}


def link(names: set[str], to: Path) -> None:
    """Link in this folder what these have in ``site-packages``: whole folders, but for those that others share."""
    owners: dict[str, set[str]] = defaultdict(set)
    for each in distributions(path=[str(SITE)]):
        name = canonicalize_name(each.name)  # reads its metadata
        for path in _places(each):
            owners[path].add(name)
    alone = {path for path, sharing in owners.items() if sharing <= names}
    for path in sorted(path for path in alone if path.rpartition("/")[0] not in alone):
        (to / path).parent.mkdir(parents=True, exist_ok=True)
        (to / path).symlink_to(SITE / path)


def _places(of: Distribution) -> Iterator[str]:
    """Return the package's files except commands, and their folders."""
    for file, *_ in csv.reader((of.read_text("RECORD") or "").splitlines()):
        path = "" if file.startswith(("../", "/")) else file
        while path:
            yield path
            path = path.rpartition("/")[0]
