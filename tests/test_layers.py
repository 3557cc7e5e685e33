"""Imports point one way; the table is the one in docs/architecture.md."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "penstock"

FOUNDATION = {"java", "api", "core"}
WIRE = {"kafka", "plugins", "settings", "observe", "embedded"}
PIPELINE = FOUNDATION | WIRE | {"pipeline"}

# What each part of penstock may import besides itself. A dotted name stands for that module alone.
MAY_IMPORT = {
    "java": {"api.errors"},
    "api": {"java"},
    "core": {"api", "java"},
    **dict.fromkeys(WIRE, FOUNDATION),
    "pipeline": FOUNDATION | WIRE,
    "connectors": {"api", "core.config", "kafka", "java", "pipeline.values", "spark.query"},
    "spark": PIPELINE,
    "http": {"core.model.messages", "java", "settings", "observe"},
    "worker": {"*"},
    "cli": {"*"},
    "commands": {"*"},
    "demo": {"*"},
}
# The parts that nothing else may import.
TOPS = {part for part, allowed in MAY_IMPORT.items() if "*" in allowed}

FILES = sorted(SOURCE.rglob("*.py"))


def part(module: str) -> str:
    """``penstock.core.model.state`` belongs to ``core``."""
    return [*module.split("."), ""][1]


def module(file: Path) -> str:
    names = ("penstock", *file.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def imports(text: str, package: str) -> Iterator[str]:
    """Every module that ``text``, a module of ``package``, imports anywhere in it, by its full name."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.ImportFrom(module=None, names=names, level=level):
                yield from (f"{above(package, level)}.{name.name}" for name in names)
            case ast.ImportFrom(module=str(target), names=names, level=level):
                full = f"{above(package, level)}.{target}" if level else target
                # `from penstock.core import messages` may name a module or something in one.
                yield from (f"{full}.{name.name}" for name in names) if full.startswith("penstock") else (full,)


def above(package: str, level: int) -> str:
    return ".".join(package.split(".")[: len(package.split(".")) - level + 1])


def allowed(importer: str, imported: str) -> bool:
    """Whether a module of part ``importer`` may import the module, or the name in a module, ``imported``."""
    rest = imported.removeprefix("penstock").lstrip(".")
    if not rest or rest.split(".")[0] == importer:
        return True
    if rest.split(".")[0] not in MAY_IMPORT:  # a name of penstock/__init__.py
        return "." not in rest
    return any(name == "*" or rest == name or rest.startswith(f"{name}.") for name in MAY_IMPORT.get(importer, set()))


def violations(file: Path) -> list[str]:
    name = module(file)
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    ours = {target for target in imports(file.read_text("utf-8"), package) if target.split(".")[0] == "penstock"}
    return sorted(target for target in ours if not allowed(part(name), target))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_imports_point_one_way(file: Path) -> None:
    assert violations(file) == []


def test_every_part_is_in_the_table() -> None:
    assert {part(module(file)) for file in FILES} - {""} <= set(MAY_IMPORT)


@pytest.mark.parametrize("package", ["api", "core"])
def test_the_inside_needs_no_library(package: str) -> None:
    used = {
        target.split(".")[0]
        for file in FILES
        if part(module(file)) == package
        for target in imports(file.read_text("utf-8"), f"penstock.{package}")
    }
    assert used - sys.stdlib_module_names <= {"penstock"}


CORE_IS_PURE = {"asyncio", "random", "secrets", "socket", "subprocess", "threading", "time", "uuid", "os", "pathlib"}


def test_core_has_no_clock_no_chance_no_threads_no_files() -> None:
    used = {
        (file.name, target)
        for file in FILES
        if part(module(file)) == "core"
        for target in imports(file.read_text("utf-8"), "penstock.core")
        if target.split(".")[0] in CORE_IS_PURE
    }
    assert used == set()


def test_what_the_table_means() -> None:
    assert allowed("spark", "penstock.pipeline.source.loop")
    assert allowed("http", "penstock.core.model.messages.Request")
    assert not allowed("http", "penstock.core.herder")
    assert not allowed("pipeline", "penstock.spark.task")
    assert not allowed("connectors", "penstock.spark.task")
    assert all(not allowed(part, f"penstock.{top}") for part in set(MAY_IMPORT) - TOPS for top in TOPS)
    assert list(imports("from . import state\nfrom ..api import batch", "penstock.core.model")) == [
        "penstock.core.model.state",
        "penstock.core.api.batch",
    ]
