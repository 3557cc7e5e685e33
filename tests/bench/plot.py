"""The ratios of a run as a picture: a bar for each figure that has a reference, SVG and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from bench.comparing import Row

_LINE, _LEFT, _SCALE, _MOST = 22, 230, 100, 4.0


def svg(rows: Sequence[Row]) -> str:
    """Rates beyond 1 are better; times below."""
    shown = [row for row in rows if row.ratio is not None]
    width, height = int(_LEFT + _SCALE * _MOST + 70), _LINE * (len(shown) + 2)
    one = _LEFT + _SCALE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{one}" y="14" text-anchor="middle">the reference = 1</text>',
    ]
    for i, row in enumerate(shown):
        parts += _bar(row, _LINE * (i + 1))
    parts.append(f'<line x1="{one}" y1="{_LINE - 4}" x2="{one}" y2="{height - 8}" stroke="black"/>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _bar(row: Row, y: int) -> list[str]:
    assert row.ratio is not None
    length = round(_SCALE * min(row.ratio, _MOST), 1)
    colour = {None: "#8899aa", True: "#2e8b57", False: "#c0504d"}[row.holds]
    return [
        f'<text x="{_LEFT - 8}" y="{y + 12}" text-anchor="end">{escape(f"{row.case}, {row.figure}")}</text>',
        f'<rect x="{_LEFT}" y="{y}" width="{length}" height="{_LINE - 6}" fill="{colour}"/>',
        f'<text x="{_LEFT + length + 6}" y="{y + 12}">{row.ratio:.2f}</text>',
    ]
