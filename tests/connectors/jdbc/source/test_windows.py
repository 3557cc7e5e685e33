"""The SELECTs of a JDBC source, beside a golden file.

``python tests/connectors/jdbc/source/test_windows.py`` writes it again.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from penstock.api.errors import ConnectError
from penstock.connectors.jdbc.dialects import DIALECTS
from penstock.connectors.jdbc.dialects.base import Dialect
from penstock.connectors.jdbc.dialects.databases import PostgreSql
from penstock.connectors.jdbc.source.offsets import NANOS, TablePosition
from penstock.connectors.jdbc.source.tables import SourceTable
from penstock.connectors.jdbc.source.windows import Extent, Window, text_of, value_of

GOLDEN = Path(__file__).parent / "golden" / "selects.sql"
TABLE = SourceTable("", "sales", 'or"ders')


def windows(dialect: Dialect, table: SourceTable = TABLE) -> dict[str, Window]:
    source = f"SELECT * FROM {table.sql(dialect)}"
    number, first, second = map(dialect.quoted, ("id", "changed", "created"))
    both = TablePosition(7, 5 * NANOS + 1)
    return {
        "bulk": Window(dialect, source),
        "bulk, by key": Window(dialect, source, key=number),
        "incrementing, first": Window(dialect, source, number, upto=300),
        "incrementing": Window(dialect, source, number, after=TablePosition(100), upto=300, suffix="FOR READ ONLY"),
        "timestamp": Window(dialect, source, times=(first,), after=TablePosition(time=both.time), until=9 * NANOS),
        "timestamps": Window(dialect, source, times=(first, second), after=TablePosition(time=0), until=9 * NANOS),
        "both, first": Window(dialect, source, number, (first,), TablePosition(time=0), 9 * NANOS),
        "both": Window(dialect, source, number, (first,), both, 9 * NANOS),
    }


def text_of_all(dialect: Dialect, table: SourceTable = TABLE) -> str:
    parts = [f"-- {dialect.name}"]
    for name, window in windows(dialect, table).items():
        cuts = [] if window.axis is None else [6 * NANOS] if window.times else [200]
        asked = [window.extent(table.sql(dialect))] if window.axis is not None else []
        if name == "incrementing":
            asked.insert(0, replace(window, upto=None).greatest(table.sql(dialect)))
        parts += [f"-- {name}: {', '.join(each.parameters)}\n{each.sql}" for each in [*asked, *window.selects(cuts)]]
    return "\n".join(parts) + "\n\n"


def text_of_dialects() -> str:
    return "".join(text_of_all(kind()) for kind in DIALECTS)


def test_selects_of_all_dialects_equal_the_golden_file() -> None:
    assert text_of_dialects() == GOLDEN.read_text("utf-8")


def test_names_are_not_quoted_if_they_are_not_to_be() -> None:
    plain = text_of_all(PostgreSql(False), SourceTable("", "sales", "orders"))
    assert "FROM sales.orders WHERE" in plain
    assert "id <= ?" in plain
    with pytest.raises(ConnectError, match="has to be quoted"):
        text_of_all(PostgreSql(False))


@pytest.mark.parametrize(
    ("extent", "most", "cuts"),
    [
        (Extent(1, 100, 100), 100, []),
        (Extent(1, 100, 100), 50, [50]),
        (Extent(1, 100, 100), 30, [25, 50, 75]),
        (Extent(1, 1, 5000), 10, [1]),
        (Extent(-10, 10, 21), 10, [-4, 3]),
        (Extent(1, 10**18, 10), 5, [5 * 10**17]),
    ],
)
def test_ranges_of_about_so_many_rows(extent: Extent, most: int, cuts: list[int]) -> None:
    found = extent.cuts(most)
    assert [cut for cut in found if cut < extent.high] == found
    assert found == [cut for cut in cuts if cut < extent.high]


def test_ranges_meet_without_a_gap() -> None:
    numbers = range(-50, 400, 3)
    cuts = Extent(min(numbers), max(numbers), len(numbers)).cuts(7)
    ends = [float("-inf"), *cuts, float("inf")]
    ranges = [[n for n in numbers if low < n <= high] for low, high in pairwise(ends)]
    assert [n for each in ranges for n in each] == list(numbers)
    assert max(map(len, ranges)) <= 8


def test_statistics_of_the_database_make_ranges_of_similar_row_counts() -> None:
    numbers = [i**4 for i in range(2000)]
    bounds = tuple(numbers[i * 9] for i in range(101))
    extent = Extent(numbers[0], numbers[-1], len(numbers))
    # It has seen the first 900 of them.
    known = Extent(numbers[0], numbers[-1], len(numbers), bounds, 900)

    def largest(extent: Extent) -> int:
        ends = [-1, *extent.cuts(100), extent.high]
        return max(sum(low < n <= high for n in numbers) for low, high in pairwise(ends))

    assert largest(Extent(0, numbers[900], 901)) > 500
    assert largest(Extent(0, numbers[900], 901, bounds, 900)) < 110
    assert largest(known) < largest(extent)
    # Those that came since are not taken for those that were there.
    assert len([cut for cut in known.cuts(100) if cut <= numbers[900]]) == 9
    assert Extent(5, 10**6, 300, (1, 1, 1, 2), 4).cuts(100) == Extent(5, 10**6, 300).cuts(100)


@pytest.mark.parametrize("value", [0, -1, 5 * NANOS + 1, -NANOS - 1])
def test_positions_survive_the_way_to_java_as_text(value: int) -> None:
    assert value_of(text_of("T", value)) == value
    assert value_of(text_of("N", value)) == value
    assert text_of("T", -1) == "T-1.999999999"


def test_an_empty_table_has_no_extent() -> None:
    assert Extent.of([None, None, "N0"]) is None
    assert Extent.of(["N1", "N5", "N3"]) == Extent(1, 5, 3)


if __name__ == "__main__":
    GOLDEN.write_text(text_of_dialects(), "utf-8")
