"""The imports among the modules of ``penstock``, read from the source text without running it."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "penstock"
FILES = tuple(sorted(SOURCE.rglob("*.py")))

Graph = Mapping[str, frozenset[str]]
"""The modules that each module imports."""


def module_name(file: Path) -> str:
    """Return the module's name without ``penstock.``, such as ``core.model.state``; a package is named like its
    folder.
    """
    names = ("penstock", *file.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


MODULES = {module_name(file): file for file in FILES}


def part(module: str) -> str:
    """Return the part to which a module belongs: ``core`` for ``core.model.state``, the empty part for ``penstock``."""
    return [*module.split("."), ""][1]


def imported_names(text: str, package: str) -> Iterator[str]:
    """Yield the full name of everything that ``text``, a module of ``package``, imports: at its top, in functions, and
    under TYPE_CHECKING.
    """
    for node in _statements(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.ImportFrom(module=None, names=names, level=level):
                yield from (f"{_above(package, level)}.{name.name}" for name in names)
            case ast.ImportFrom(module=str(target), names=names, level=level):
                full = f"{_above(package, level)}.{target}" if level else target
                # `from penstock.core import herder` may name a module or a name in one.
                yield from (f"{full}.{name.name}" for name in names) if full.startswith("penstock") else (full,)


def _statements(module: ast.Module) -> Iterator[ast.AST]:
    """Yield all statements, also nested ones. Expressions, most of a tree's nodes, contain none."""
    waiting: deque[ast.AST] = deque([module])
    while waiting:
        node = waiting.popleft()
        yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, name, ())
            if isinstance(inner, list):
                waiting += inner


def _above(package: str, level: int) -> str:
    return ".".join(package.split(".")[: len(package.split(".")) - level + 1])


@cache
def names_imported_by(module: str) -> frozenset[str]:
    """Return the ``imported_names`` of a module of ``penstock``."""
    file = MODULES[module]
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    return frozenset(imported_names(file.read_text("utf-8"), package))


def _module_of(name: str) -> str | None:
    """Return the module that an import loads: ``core.herder`` for ``penstock.core.herder.Herder``."""
    return next((module for module in (name, name.rpartition(".")[0]) if module in MODULES), None)


@cache
def import_graph() -> Graph:
    """Return the imports of every module of ``penstock``. Parent packages of an imported module do not count."""
    return {
        module: frozenset(
            found
            for name in names_imported_by(module)
            if name.partition(".")[0] == "penstock" and (found := _module_of(name)) not in (None, module)
        )
        for module in MODULES
    }


def circles(graph: Graph) -> set[frozenset[str]]:
    """Return the sets of modules that all import each other, directly or through others."""
    reached = {module: _reachable(graph, module) for module in graph}
    return {
        frozenset(other for other in reached[module] if module in reached[other]) | {module}
        for module in graph
        if module in reached[module]
    }


def _reachable(graph: Graph, start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting += new
    return found
