"""The page of the messages between processes, made from the modules that define them without importing them."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[2] / "src" / "penstock"
FOLDERS = ("hosts", "preview", "spark")
"""The packages with processes of their own; the messages of ``core`` stay within the worker."""


def modules() -> list[Path]:
    """Return the files of all protocols: modules ``messages``, and those in packages of that name."""
    found = {file for folder in FOLDERS for file in (PACKAGE / folder).rglob("*.py") if "messages" in _parts(file)}
    return sorted(file for file in found if file.name != "__init__.py")


def page() -> str:
    classes = _api()
    parts = [
        "# Messages between processes",
        "A worker, its Spark drivers, tasks and plugin hosts are [processes](../processes.md) that exchange these "
        "messages, as JSON with the bytes of columns beside it (`penstock.wire`). They are internal: a worker and the "
        "processes that it starts have the same version.",
    ]
    for file in modules():
        module = ast.parse(file.read_text("utf-8"))
        dotted = ".".join(("penstock", *_parts(file)))
        parts += [f"## {dotted}", classes.prose(ast.get_docstring(module))]
        for node in module.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                parts += classes.described(node, module.body)
    return "\n\n".join(part for part in parts if part) + "\n"


def _parts(file: Path) -> tuple[str, ...]:
    return file.relative_to(PACKAGE).with_suffix("").parts


def _api() -> Any:
    """Import the module beside this one that describes classes."""
    spec = importlib.util.spec_from_file_location("penstock_site_api", Path(__file__).with_name("api.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
