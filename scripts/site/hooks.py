"""Hooks that mkdocs calls while it builds the site: pages generated from the code, and links adapted to the site.

The README is the first page. Links to source files become plain text, links to folders lead to lists of their
contents.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
FOLDERS = {"guarantees": "Delivery guarantees", "decisions": "Decisions"}
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")


def on_files(files: Files, config: Any) -> Files:
    made = _beside("reference").pages(
        metrics=_beside("metrics").page(),
        log=_beside("log_lines").page(),
        api=_beside("api").page(),
    )
    made["messages"] = _beside("messages").page()
    made["calls"] = _beside("calls").page()
    of_types = ("database_types", "postgres_types", "registry_types", "table_types")
    made["types"] = _beside("types").page(*(_beside(name).sections() for name in of_types))
    pages = {f"reference/{name}.md": text for name, text in made.items()}
    pages["index.md"] = _readme()
    for folder, title in FOLDERS.items():
        pages[f"{folder}/index.md"] = _list_of(ROOT / "docs" / folder, title)
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    if page.file.src_uri == "differences.md":
        markdown += f"\n{_beside('differences').tables()}\n"
    return _LINK.sub(_fitting, markdown)


def _fitting(found: re.Match[str]) -> str:
    text, target = found[1], found[2]
    path = target.partition("#")[0]
    if "src/" in path or "tests/" in path:
        return text
    if path.rstrip("/").rpartition("/")[2] in FOLDERS:
        return f"[{text}]({path.rstrip('/')}/index.md)"
    return found[0]


def _readme() -> str:
    text = (ROOT / "README.md").read_text("utf-8")
    return _LINK.sub(lambda found: f"[{found[1]}]({found[2].removeprefix('docs/')})", text)


def _list_of(folder: Path, title: str) -> str:
    lines = [f"# {title}", ""]
    for page in sorted(folder.glob("*.md")):
        heading = page.read_text("utf-8").partition("\n")[0].lstrip("# ")
        lines.append(f"- [{heading}]({page.name})")
    return "\n".join(lines) + "\n"


def _beside(name: str) -> Any:
    """Import a module beside this file; mkdocs does not import hooks as a package."""
    spec = importlib.util.spec_from_file_location(f"penstock_site_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
