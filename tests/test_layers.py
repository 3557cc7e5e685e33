"""Imports among the modules of ``penstock``: no circles, only what docs/architecture.md allows, and rooms of a size."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from support.import_graph import (
    FILES,
    MODULES,
    SOURCE,
    circles,
    import_graph,
    imported_names,
    module_name,
    names_imported_by,
    part,
)

ARCHITECTURE = Path(__file__).parents[1] / "docs" / "architecture.md"
EVERYTHING, NOTHING = "everything", "nothing of Penstock"


def section_rows(title: str) -> list[list[str]]:
    """Return the cells of the table under this heading of docs/architecture.md, without its first two lines."""
    section = ARCHITECTURE.read_text("utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def names(cell: str) -> list[str]:
    return re.findall(r"`([\w.]+)`", cell)


def allowed_imports() -> list[tuple[list[str], set[str]]]:
    """Each row of "Who may import whom": parts of penstock, and what they may import besides themselves. A dotted name
    stands for that module or package alone.
    """
    rows = []
    for importers, imported in section_rows("Who may import whom"):
        targets = {"*"} if imported == EVERYTHING else set(names(imported))
        assert targets or imported == NOTHING, f"neither names nor a known word: {imported}"
        rows.append((names(importers), targets))
    return rows


MAY_IMPORT = {part: targets for parts, targets in allowed_imports() for part in parts}


def allowed(importer: str, imported: str) -> bool:
    """Return whether part ``importer`` may import the module, or the name in a module, ``imported``."""
    rest = imported.removeprefix("penstock").lstrip(".")
    if not rest or rest.split(".")[0] == importer:
        return True
    if rest.split(".")[0] not in MAY_IMPORT:  # a name of penstock/__init__.py
        return "." not in rest
    return any(matches(name, rest) for name in MAY_IMPORT.get(importer, set()))


def matches(name: str, imported: str) -> bool:
    """Return whether a name of the table includes ``imported``, both without ``penstock.``."""
    return name == "*" or imported == name or imported.startswith(f"{name}.")


def ours(module: str) -> set[str]:
    return {name for name in names_imported_by(module) if name.split(".")[0] == "penstock"}


@pytest.mark.parametrize("importer", sorted({part(module_name(file)) for file in FILES}))
def test_imports_point_one_way(importer: str) -> None:
    modules = [module for module in map(module_name, FILES) if part(module) == importer]
    wrong = [(module, target) for module in modules for target in ours(module) if not allowed(importer, target)]
    assert sorted(wrong) == []


def test_every_part_is_in_the_table() -> None:
    listed = [each for parts, _ in allowed_imports() for each in parts]
    assert sorted(listed) == sorted({part(module) for module in MODULES} - {""})


@pytest.mark.parametrize(("importers", "targets"), allowed_imports(), ids=lambda cell: "-".join(sorted(cell)))
def test_the_table_allows_nothing_that_nobody_imports(importers: list[str], targets: set[str]) -> None:
    imported = {
        name.removeprefix("penstock.") for module in MODULES if part(module) in importers for name in ours(module)
    }
    assert [target for target in targets if not any(matches(target, name) for name in imported)] == []


def test_no_circle_of_imports() -> None:
    assert [sorted(circle) for circle in circles(import_graph())] == [], "these modules import each other"


def test_circles_of_imports_are_found() -> None:
    graph = {name: frozenset(targets) for name, targets in {"a": "b", "b": "c", "c": "bd", "d": "", "e": "e"}.items()}
    assert circles(graph) == {frozenset("bc"), frozenset("e")}


def test_imports_in_functions_and_for_types_count() -> None:
    text = """
if TYPE_CHECKING:
    from penstock.core.herder import Herder
def late():
    import penstock.java
"""
    assert list(imported_names(text, "penstock.core")) == ["penstock.core.herder.Herder", "penstock.java"]


def test_hosts_of_python_need_none_of_java() -> None:
    used = {name for module in MODULES if module.startswith("penstock.hosts.python") for name in ours(module)}
    assert [name for name in sorted(used) if name.startswith("penstock.hosts.jvm")] == []


@pytest.mark.parametrize("package", ["api", "core"])
def test_the_inside_needs_no_library(package: str) -> None:
    used = {name.split(".")[0] for module in MODULES if part(module) == package for name in names_imported_by(module)}
    assert used - sys.stdlib_module_names <= {"penstock"}


def test_calls_need_no_library_in_the_environment_of_a_plugin() -> None:
    shared = {f"penstock.wire.{name}" for name in ("framing", "calls")}
    used = {name for module in MODULES if module in shared for name in names_imported_by(module)}
    outside = {name for name in used if name.split(".")[0] not in sys.stdlib_module_names}
    assert {name for name in outside if not name.startswith("penstock.wire.framing")} == set()


LIBRARIES_OF_THE_RUNTIME = {"confluent_kafka", "kafka", "py4j", "pyspark"}


def test_connectors_import_only_the_api() -> None:
    """Each of them could be in another repository."""
    fine = ("penstock.api.", "penstock.connectors.", "penstock.KAFKA_VERSION.", "penstock.__version__.")
    own = [module for module in MODULES if part(module) == "connectors"]
    used = {(module, name) for module in own for name in names_imported_by(module)}
    of_penstock = {each for each in used if each[1].split(".")[0] == "penstock"}
    assert [each for each in sorted(of_penstock) if not f"{each[1]}.".startswith(fine)] == []
    assert [each for each in sorted(used) if each[1].split(".")[0] in LIBRARIES_OF_THE_RUNTIME] == []


FAMILIES = ("dlt", "jdbc", "mirror", "postgres", "singer", "spark")
"""Folders of connectors that could be packages of their own."""
READS_AS = {("dlt", "singer")}
"""Rows of dlt are messages like those of Singer's taps."""


def test_families_of_connectors_do_not_import_each_other() -> None:
    pairs = {
        (module.split(".")[2], name.split(".")[2])
        for module in MODULES
        if part(module) == "connectors" and module.count(".") > 1
        for name in ours(module)
        if name.startswith("penstock.connectors.")
    }
    crossing = {(one, other) for one, other in pairs if one != other and {one, other} & {*FAMILIES}}
    assert crossing == READS_AS
    folders = {file.name for file in (SOURCE / "connectors").iterdir() if (file / "__init__.py").exists()}
    assert folders == {*FAMILIES}


CORE_IS_PURE = {"asyncio", "random", "secrets", "socket", "subprocess", "threading", "time", "uuid", "os", "pathlib"}


def test_core_has_no_clock_no_chance_no_threads_no_files() -> None:
    used = {
        (module, name)
        for module in MODULES
        if part(module) == "core"
        for name in names_imported_by(module)
        if name.split(".")[0] in CORE_IS_PURE
    }
    assert used == set()


def test_the_table_of_imports_is_read() -> None:
    assert allowed("spark", "penstock.pipeline.source.loop")
    assert allowed("http", "penstock.core.model.messages.Request")
    assert not allowed("http", "penstock.core.herder")
    assert not allowed("pipeline", "penstock.spark.task")
    assert not allowed("connectors", "penstock.spark.task")
    # What may import everything is imported by nothing else.
    tops = {part for part, targets in MAY_IMPORT.items() if "*" in targets}
    assert all(not allowed(part, f"penstock.{top}") for part in set(MAY_IMPORT) - tops for top in tops)
    assert list(imported_names("from . import state\nfrom ..api import batch", "penstock.core.model")) == [
        "penstock.core.model.state",
        "penstock.core.api.batch",
    ]
