"""The pages for beginners, in an empty folder with only the wheel: every file is written and every command run as the
page says, and prints the output that the page shows.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import pytest

from installed.conftest import ROOT, Installed
from penstock.embedded.ports import free_port

pytestmark = pytest.mark.slow

PAGES = ["README.md", "docs/tutorials/source.md", "docs/tutorials/sink.md", "docs/tutorials/transform.md"]
SECTIONS = ("Quick start", "Run a worker with your properties file")
"""Sections of the README that are tested; those after them need a cluster."""
FILE = re.compile(r"`([\w./-]+\.(?:py|json|properties))`[^`]*:$")
KAFKA, REST = free_port(), free_port()
OUTPUT = re.compile(r"print[^.]*:$")


@dataclass
class Page:
    """A page's blocks that are indented by four: a file after a paragraph that ends with its name; commands, which
    begin with ``$ ``, each with its output; or commands alone, whose output may be the next block, after a paragraph
    that announces it. In output ``…`` stands for anything, and lines may be left out.
    """

    steps: list[tuple[str, list[str]]] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Page:
        page, before = cls(), ""
        for indented, lines in groupby(_first_steps(path).splitlines(), key=_Indented()):
            text = "\n".join(line[4 * indented :] for line in lines).strip("\n")
            if not indented:
                before = text
            elif text.startswith("$ "):
                page._commands(text)
            elif OUTPUT.search(before):
                page.steps[-1][1].extend(text.splitlines())
            elif named := FILE.search(before):
                page.steps.append((_writing(named[1], text), []))
            else:
                page.steps.append((text, []))
        return page

    def _commands(self, text: str) -> None:
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, *output = part.rstrip().split("\n")
            self.steps.append((command, output))


class _Indented:
    """Tells whether a line belongs to a block; an empty line belongs to the part around it."""

    def __init__(self) -> None:
        self._last = False

    def __call__(self, line: str) -> bool:
        if line.strip():
            self._last = line.startswith("    ")
        return self._last


def _first_steps(path: Path) -> str:
    """Return the text of a page; of the README only the sections for beginners after the installation."""
    text = path.read_text("utf-8")
    if path.name != "README.md":
        return text
    return "\n".join(re.split(r"^##+ ", text.split(f"\n## {title}\n")[1], flags=re.MULTILINE)[0] for title in SECTIONS)


def _writing(name: str, text: str) -> str:
    return f"mkdir -p $(dirname {name}) && cat > {name} <<'END OF THE FILE'\n{text}\nEND OF THE FILE"


def shown(expected: str, output: str) -> bool:
    pattern = ".*".join(map(re.escape, expected.split("…")))
    return any(re.fullmatch(pattern, line) for line in output.splitlines())


def _elsewhere(command: str) -> str:
    """Replace ports that others may use on this machine by free ones."""
    return (
        command.replace("kafka up", f"kafka up --port {KAFKA}").replace("9092", str(KAFKA)).replace("8083", str(REST))
    )


@pytest.mark.parametrize("name", PAGES)
def test_what_a_page_says(installed: Installed, tmp_path: Path, name: str) -> None:
    steps = Page.read(ROOT / name).steps
    assert len(steps) > 1
    down = "penstock kafka down" if any("kafka up" in command for command, _ in steps) else "true"
    script = [f"trap 'kill $(jobs -p) 2>/dev/null || true; {down}' EXIT", "set -e"]
    for number, (command, _) in enumerate(steps):
        script += [f"printf '\\n@@ {number}\\n'", _elsewhere(command)]
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=tmp_path,
        env=installed.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    said = f"{done.stdout}\n{done.stderr}"
    assert done.returncode == 0, said
    outputs = re.split(r"^@@ \d+\n", done.stdout, flags=re.MULTILINE)[1:]
    assert len(outputs) == len(steps), said
    for (command, expected), output in zip(steps, outputs, strict=True):
        missing = [line for line in expected if not shown(line, output)]
        assert missing == [], f"{command}\n{output}"
