"""The picture: read back as XML, its bars are as long as the delays are."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from penstock.demo.chart import EARLY, LATE, Carrier, svg

SVG = "{http://www.w3.org/2000/svg}"


def bars(picture: str, color: str) -> list[tuple[float, float]]:
    """Start and width of each."""
    found = ElementTree.fromstring(picture).iter(f"{SVG}rect")
    return [(float(bar.get("x", 0)), float(bar.get("width", 0))) for bar in found if bar.get("fill") == color]


def texts(picture: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def test_the_late_go_to_the_right_and_the_early_to_the_left_of_the_same_line() -> None:
    picture = svg([Carrier("Late", 10, 20.0), Carrier("Less late", 10, 5.0), Carrier("Early", 10, -10.0)])
    (late, less), (early,) = bars(picture, LATE), bars(picture, EARLY)
    assert late[0] == less[0] == pytest.approx(sum(early), abs=0.2)
    assert late[1] == pytest.approx(2 * early[1], abs=0.2)
    assert late[1] == pytest.approx(4 * less[1], abs=0.4)


def test_it_tells_names_and_numbers() -> None:
    found = texts(svg([Carrier("Smith & Sons", 1000, 3.14), Carrier("Early", 234, -2.0)]))
    assert {"Smith & Sons", "+3.1", "\N{MINUS SIGN}2.0"} <= set(found)
    assert found[1].startswith("1,234 flights")


@pytest.mark.parametrize("delays", [[-3.0], [3.0], [0.0], [-3.0, -1.0]])
def test_all_bars_are_inside_whatever_the_delays(delays: list[float]) -> None:
    picture = svg([Carrier("One", 1, delay) for delay in delays])
    width = float(ElementTree.fromstring(picture).get("width", 0))
    found = bars(picture, LATE) + bars(picture, EARLY)
    assert len(found) == len(delays)
    assert all(start >= 0 and start + length <= width for start, length in found)
