"""Draws what ``penstock demo`` prints, of a real run, as ``docs/demo.svg``, with the chart that it draws beside it.

``python scripts/demo_picture.py [OPTION OF THE DEMO]…``; a run takes a minute or two.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

DOCS = Path(__file__).parents[1] / "docs"
CHART = Path("flight-delays.svg")
"""File to which the demo draws the chart."""
WIDTH = 112
FORMAT = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img"
     aria-label="The output of make demo">
  <style>
    .{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
      font-size: {char_height}px; line-height: {line_height}px; }}
    {styles}
  </style>
  <defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
  </clipPath>{lines}</defs>
  {chrome}
  <g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
    {backgrounds}
    <g class="{unique_id}-matrix">{matrix}</g>
  </g>
</svg>
"""


def main(options: list[str]) -> int:
    command = [sys.executable, "-m", "penstock.cli", "demo", *options]
    environment = {**os.environ, "COLUMNS": str(WIDTH)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        print(done.stdout + done.stderr, file=sys.stderr)
        return done.returncode
    console = Console(record=True, width=WIDTH, file=io.StringIO(), highlight=False)
    console.print(Text("$ make demo", style="bold"))
    for line in done.stdout.replace(f"{Path.cwd()}{os.sep}", "").rstrip().splitlines():
        console.print(Text(line), soft_wrap=True)
    shutil.move(CHART, DOCS / CHART.name)
    (DOCS / "demo.svg").write_text(console.export_svg(title="make demo", code_format=FORMAT, unique_id="demo"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
