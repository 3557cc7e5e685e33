"""Bars to the right for the late, to the left for the early, as an SVG that any browser shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, MARGIN, NAMES = 860, 40, 210
TOP, ROW, BAR = 118, 30, 18
LATE, EARLY, INK, PALE, PAPER = "#d1495b", "#2a9d8f", "#1f2933", "#6b7785", "#ffffff"
STEP = 5
"""Minutes between two lines of the grid."""
ROOM = 52
"""Beside the longest bars, for what is written there."""


@dataclass(frozen=True, slots=True)
class Carrier:
    """Arrival delay of a carrier's flights in minutes; flights that never arrived do not count."""

    name: str
    flights: int
    delay: float


def svg(carriers: Sequence[Carrier]) -> str:
    """The mean delay of each, from top to bottom in the order given."""
    low = min([0.0, *(each.delay for each in carriers)])
    high = max([0.0, *(each.delay for each in carriers)])
    left, right = MARGIN + NAMES + (ROOM if low < 0 else 0), WIDTH - MARGIN - ROOM
    scale = (right - left) / ((high - low) or 1.0)

    def x(minutes: float) -> float:
        return left + (minutes - low) * scale

    bottom = TOP + ROW * len(carriers)
    total = sum(each.flights for each in carriers)
    parts = [
        _text(MARGIN, 46, "Mean delay at arrival by carrier", size=22, weight=600),
        _text(MARGIN, 72, f"{total:,} flights that left New York City in 2013; minutes", size=14, fill=PALE),
    ]
    for minutes in range(-int(-low // STEP) * STEP, int(high // STEP) * STEP + 1, STEP):
        strong = f'stroke="{INK}"' if minutes == 0 else 'stroke="#e3e8ee"'
        parts.append(f'<line x1="{x(minutes):.1f}" x2="{x(minutes):.1f}" y1="{TOP - 6}" y2="{bottom}" {strong}/>')
        parts.append(_text(x(minutes), TOP - 14, _signed(minutes, 0), "middle", 12, fill=PALE))
    for number, each in enumerate(carriers):
        y = TOP + ROW * number + (ROW - BAR) / 2
        late = each.delay >= 0
        start, end = sorted((x(0), x(each.delay)))
        parts.append(_text(MARGIN, y + BAR - 4, each.name, size=14))
        parts.append(
            f'<rect x="{start:.1f}" y="{y:.1f}" width="{end - start:.1f}" height="{BAR}" rx="2" '
            f'fill="{LATE if late else EARLY}"><title>{each.flights:,} flights</title></rect>'
        )
        tip, side = (end + 6, "start") if late else (start - 6, "end")
        parts.append(_text(tip, y + BAR - 4, _signed(each.delay), side, 13, fill=PALE))
    height = bottom + 30
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="Helvetica, Arial, sans-serif">\n<rect width="100%" height="100%" fill="{PAPER}"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _text(
    x: float, y: float, text: str, anchor: str = "start", size: int = 14, weight: int = 400, fill: str = INK
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" '
        f'fill="{fill}" stroke="{PAPER}" stroke-width="3" paint-order="stroke">{escape(text)}</text>'
    )


def _signed(minutes: float, digits: int = 1) -> str:
    return f"{minutes:+.{digits}f}".replace("-", "\N{MINUS SIGN}") if minutes else "0"
