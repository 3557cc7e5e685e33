"""The page of what authors of plugins import, made from the modules of ``penstock.api`` without importing them."""

from __future__ import annotations

import ast
import html
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "penstock" / "api"
_CODE = re.compile(r"(`[^`]*`)")


def page() -> str:
    offered = set(_names(ast.parse((PACKAGE / "__init__.py").read_text("utf-8"))))
    parts = [
        "# What authors import",
        "Every name of `penstock.api` below can be imported from there; `penstock.api.testing` and "
        "`penstock.api.testing.contract` are the kit for tests. These change incompatibly only as "
        "[the stability statement](../how-to/write-a-plugin.md#what-stays) says. Modules that are provisional may "
        "change in any version; their names are imported from the module itself.",
    ]
    for file in sorted(PACKAGE.rglob("*.py")):
        module = ast.parse(file.read_text("utf-8"))
        in_kit = "testing" in file.parts
        provisional = "Provisional" in (ast.get_docstring(module) or "")
        found = [
            node for node in module.body if (name := _name(node)) and _public(name, offered, in_kit or provisional)
        ]
        if found or provisional:
            dotted = ".".join(("penstock.api", *file.relative_to(PACKAGE).with_suffix("").parts))
            parts += [f"## {dotted.removesuffix('.__init__')}", prose(ast.get_docstring(module))]
            for node in found:
                parts += described(node, module.body)
    return "\n\n".join(part for part in parts if part) + "\n"


def _public(name: str, offered: set[str], all_names: bool) -> bool:
    return not offered.isdisjoint(name.split(", ")) or (all_names and not name.startswith("_"))


def _names(module: ast.Module) -> Iterator[str]:
    """Yield the names in ``__all__``."""
    for node in module.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            yield from ast.literal_eval(node.value)


def _name(node: ast.stmt) -> str | None:
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case ast.Assign(targets=[ast.Tuple(elts=several)]):
            return ", ".join(map(ast.unparse, several))
    return None


def described(node: ast.stmt, body: list[ast.stmt]) -> Iterator[str]:
    match node:
        case ast.ClassDef(name=name, bases=bases):
            yield f"### {name}"
            yield f"`class {name}({', '.join(map(ast.unparse, bases))})`" if bases else f"`class {name}`"
            yield prose(ast.get_docstring(node))
            yield "\n".join(_members(node))
        case ast.FunctionDef(name=name):
            yield f"### {name}"
            yield f"`{_signature(node)}`"
            yield prose(ast.get_docstring(node))
        case _:
            yield f"### {_name(node)}"
            yield _after(node, body)


def _members(node: ast.ClassDef) -> Iterator[str]:
    for each in node.body:
        name = _name(each)
        if name is None or name.startswith("_"):
            continue
        match each:
            case ast.FunctionDef():
                about, shown = ast.get_docstring(each), _signature(each)
            case ast.AnnAssign(annotation=annotation):
                about, shown = _after(each, node.body), f"{name}: {ast.unparse(annotation)}"
            case _:
                about, shown = _after(each, node.body), name
        yield f"- `{shown}`" + (f"\n\n{_indented(prose(about))}\n" if about else "")


def _signature(node: ast.FunctionDef) -> str:
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({ast.unparse(node.args)}){returns}"


def _after(node: ast.stmt, body: list[ast.stmt]) -> str:
    """Return the docstring after an assignment."""
    match body[body.index(node) + 1 : body.index(node) + 2]:
        case [ast.Expr(value=ast.Constant(value=str(text)))]:
            return prose(inspect.cleandoc(text))
    return ""


def prose(text: str | None) -> str:
    """Examples, behind ``>>>`` or indented, are code; angle brackets elsewhere are names."""
    lines: list[str] = []
    for line in (text or "").replace("``", "`").splitlines():
        example = line.startswith((">>>", "..."))
        if example and lines and lines[-1] and not lines[-1].startswith("    "):
            lines.append("")
        lines.append(f"    {line}" if example else line if line.startswith("    ") else _escaped(line))
    return "\n".join(lines)


def _escaped(line: str) -> str:
    return "".join(part if part.startswith("`") else html.escape(part, quote=False) for part in _CODE.split(line))


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.splitlines())
