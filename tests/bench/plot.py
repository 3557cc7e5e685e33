"""The ratios of a run as an SVG picture: a bar for each figure that has a reference."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from bench.comparing import Row

_LINE, _LEFT, _SCALE, _MOST = 22, 230, 100, 4.0
_GREEN, _RED, _GREY = "#2e8b57", "#c0504d", "#8899aa"
_COLOURS = {True: _GREEN, False: _RED, None: _GREY}
"""Colours by whether the figure meets its goal; None: it has no goal."""
_LEGEND = ((_GREEN, "goal reached"), (_RED, "goal missed"), (_GREY, "no goal"))


def svg(rows: Sequence[Row]) -> str:
    """Draw the ratios: rates are better above 1, times and memory below; colours show whether goals are met."""
    shown = [row for row in rows if row.ratio is not None]
    width, height = int(_LEFT + _SCALE * _MOST + 70), _LINE * (len(shown) + 3)
    one = _LEFT + _SCALE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{one}" y="14" text-anchor="middle">the reference = 1</text>',
    ]
    for i, row in enumerate(shown):
        parts += _bar(row, _LINE * (i + 1))
    parts.append(f'<line x1="{one}" y1="{_LINE - 4}" x2="{one}" y2="{height - _LINE - 8}" stroke="black"/>')
    parts += [part for i, entry in enumerate(_LEGEND) for part in _legend(*entry, 100 + 120 * i, height - _LINE)]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _bar(row: Row, y: int) -> list[str]:
    assert row.ratio is not None
    length = round(_SCALE * min(row.ratio, _MOST), 1)
    return [
        f'<text x="{_LEFT - 8}" y="{y + 12}" text-anchor="end">{escape(f"{row.case}, {row.figure}")}</text>',
        f'<rect x="{_LEFT}" y="{y}" width="{length}" height="{_LINE - 6}" fill="{_COLOURS[row.holds]}"/>',
        f'<text x="{_LEFT + length + 6}" y="{y + 12}">{row.ratio:.2f}</text>',
    ]


def _legend(colour: str, meaning: str, x: int, y: int) -> list[str]:
    return [
        f'<rect x="{x}" y="{y}" width="12" height="12" fill="{colour}"/>',
        f'<text x="{x + 18}" y="{y + 11}">{meaning}</text>',
    ]
