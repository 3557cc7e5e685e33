"""Tables and texts made from the benchmark's figures."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import report
from bench.comparing import Row, table
from bench.doubling import Size
from bench.plot import svg
from bench.profiling import Path as ProfiledPath

ROWS = [
    Row("source-string", "today", "records/s", [900.0, 2100.0, 2200.0], [1000.0, 900.0, 1100.0], "java"),
    Row("rest", "today", "p50 ms", [5.0], [2.0], "java"),
    Row("density", "today", "MB a task", [25.0], [], ""),
]


def document(folder: Path) -> Path:
    marks = [f"<!-- {name}: written by `make bench` -->\nold\n<!-- end of {name} -->" for name in report.PARTS]
    page = folder / "performance.md"
    page.write_text("\n".join(["before", *marks, "after"]))
    return page


def test_ratios_are_of_medians_and_judged_by_the_goals() -> None:
    assert [row.ratio for row in ROWS] == [2.1, 2.5, None]
    assert [str(row.goal) for row in ROWS] == ["≥ 2 ×", "≤ 2 ×", "≤ 30"]
    assert [row.holds for row in ROWS] == [True, False, True]
    assert table(ROWS).rows[0][2:] == ["1,000 (900 to 1,100)", "2,100 (900 to 2,200)", "2.10 ×", "≥ 2 ×", "yes"]


def test_a_figure_that_only_the_reference_has_is_shown_and_not_judged() -> None:
    row = Row("ceiling", "today", "records/s without transactions", [], [500.0], "a plain program")
    assert (row.ratio, row.holds) == (None, None)
    assert table([row]).rows == [["ceiling", row.figure, "500, a plain program", "", "", "", ""]]


def test_a_case_that_is_measured_again_takes_the_place_of_what_there_was(tmp_path: Path) -> None:
    page = document(tmp_path)
    report.write(tmp_path, {"figures": ROWS, "profile": [ProfiledPath("sink-json", "today", 3.0, {"put": 0.25})]})
    sizes = [Size("source-string", "today", 1000, 2.0, 500.0), Size("source-string", "today", 2000, 3.0, 501.0)]
    report.write(tmp_path, {"figures": [Row("rest", "tomorrow", "p50 ms", [3.0], [2.0], "java")], "doubling": sizes})
    text = page.read_text()
    start = "before\n<!-- figures: written by `make bench` -->\n![The ratios](performance.svg)\n\n| case | figure | "
    assert text.startswith(start)
    assert (tmp_path / "performance.svg").exists()
    assert "| rest | p50 ms | 2.0 | 3.0 | 1.50 × | ≤ 2 × | yes |" in text
    assert "\nsource-string, density: today.\nrest: tomorrow.\n<!-- end of figures -->" in text
    assert "| 2,000 | 3.0 | 1.50 × | 501 |" in text
    assert "| sink-json | 3.00 |  |  |  |  |  | 25% |" in text
    assert text.endswith("after")
    assert "old" not in text
    kept = json.loads((tmp_path / "performance.json").read_text())
    assert [row["case"] for row in kept["figures"]] == ["source-string", "rest", "density"]


def test_a_document_without_marks_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d.md").write_text("no table here")
    with pytest.raises(ValueError, match="between which the table belongs"):
        report.write_into(tmp_path / "d.md", "figures", "text")


def test_the_picture_has_a_bar_for_each_ratio() -> None:
    picture = ElementTree.fromstring(svg(ROWS))
    texts = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[1:-3] == ["source-string, records/s", "2.10", "rest, p50 ms", "2.50"]


def test_the_picture_says_what_its_colours_mean() -> None:
    picture = ElementTree.fromstring(svg(ROWS))
    space = "{http://www.w3.org/2000/svg}"
    colours = [bar.get("fill") for bar in picture.iter(f"{space}rect")][1:]
    meanings = [text.text for text in picture.iter(f"{space}text")][-3:]
    assert meanings == ["goal reached", "goal missed", "no goal"]
    assert len(set(colours[-3:])) == 3
    # The first figure meets its goal, the second does not.
    assert colours[:-3] == colours[-3:-1]
