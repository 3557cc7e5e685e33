"""Writes the list of Kafka's classes that have another name in another version, for the loaders of plugins from jars.

Run it with the jars of two versions, the older first, when Kafka has moved classes:

    python scripts/moved_classes.py kafka-clients-4.3.1.jar kafka-clients-4.4.0.jar

A class that the newer jar lacks has moved if the newer jar has added one class of the same simple name. If it has not,
but all classes that were nested in it are nested in one class that was added, that class has taken its place (``>``
instead of ``=``: only references to the older name can be replaced). All others are printed; they are gone. Lines of
earlier runs about other classes stay in the list. See ``MovedClasses.java``.
"""

from __future__ import annotations

import sys
import zipfile
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path

LIST = Path(__file__).parents[1] / "src/penstock/hosts/jvm/java/penstock/host/plugins/moved-classes.txt"
HEADER = "# Older and newer names of classes that Kafka has moved; scripts/moved_classes.py has written them.\n"


def classes(jar: Path) -> set[str]:
    """Return the names of the classes in a jar."""
    with zipfile.ZipFile(jar) as archive:
        return {name.removesuffix(".class") for name in archive.namelist() if name.endswith(".class")}


def moved(older: Collection[str], newer: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the lines of the list, and the names of classes that are gone."""
    removed, added = sorted(set(older) - set(newer)), sorted(set(newer) - set(older))
    places: dict[str, list[str]] = defaultdict(list)
    for name in added:
        places[name.rpartition("/")[2]].append(name)
    lines, gone = [], []
    for name in removed:
        same = places[name.rpartition("/")[2]]
        if len(same) == 1:
            lines.append(f"{name} = {same[0]}")
        elif successor := _successor(name, removed, added):
            lines.append(f"{name} > {successor}")
        else:
            gone.append(name)
    return lines, gone


def _successor(name: str, removed: Collection[str], added: Collection[str]) -> str | None:
    outer, dollar, own = name.partition("$")
    nested = {each.partition("$")[2] for each in removed if each.startswith(f"{outer}$")}
    by_outer: dict[str, set[str]] = defaultdict(set)
    for each in added:
        by_outer[each.partition("$")[0]].add(each.partition("$")[2])
    found = [each for each, inner in by_outer.items() if nested and nested <= inner]
    return f"{found[0]}{dollar}{own}" if len(found) == 1 else None


def main(older: Path, newer: Path) -> None:
    lines, gone = moved(classes(older), classes(newer))
    known = {line.split()[0] for line in lines}
    kept = LIST.read_text("utf-8").splitlines() if LIST.exists() else []
    kept = [line for line in kept if line and not line.startswith("#") and line.split()[0] not in known]
    LIST.write_text(HEADER + "".join(f"{line}\n" for line in sorted({*kept, *lines})), "utf-8")
    for name in gone:
        print(f"gone: {name}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
