"""The page of the lines that a worker and its tasks log, made from the calls in the source."""

from __future__ import annotations

import ast
import html
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
LEVELS = {"info": "INFO", "warning": "WARN", "error": "ERROR", "exception": "ERROR"}


def page() -> str:
    parts = [
        "# Lines of the log",
        "What is logged at INFO and above, by the logger that logs it; `%s` and names in braces stand for what "
        "differs. `GET` and `PUT /admin/loggers` show and set levels, by these names or Java's.",
    ]
    for file in sorted(SOURCE.rglob("*.py")):
        rows = [f"| {level} | {_cell(text)} |" for level, text in lines(file.read_text("utf-8"))]
        if rows:
            name = ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
            parts += [f"## `{name}`", "\n".join(["| level | line |", "|---|---|", *dict.fromkeys(rows)])]
    return "\n\n".join(parts) + "\n"


def lines(source: str) -> Iterator[tuple[str, str]]:
    """Level and text of each call of a logger whose text is written in the call."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="log"), attr=attr), args=[text, *_]) if attr in LEVELS:
                if found := _text(text):
                    yield LEVELS[attr], found


def _text(node: ast.expr) -> str | None:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(map(_part, values))
    return None


def _part(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=text):
            return str(text)
        case ast.FormattedValue(value=value):
            return f"{{{ast.unparse(value)}}}"
    return ast.unparse(node)


def _cell(text: str) -> str:
    return html.escape(text, quote=False).replace("|", "&#124;").replace("\n", " ")
