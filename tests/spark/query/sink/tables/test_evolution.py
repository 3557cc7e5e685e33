"""Columns written with ``schema.evolution=ignore`` when the table's columns cannot be read."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pyspark.errors import AnalysisException

from penstock.connectors.spark.sink_settings import SinkSettings
from penstock.spark.query.sink.tables.evolution import Evolution


class Frame:
    def __init__(self, *columns: str) -> None:
        self.columns = list(columns)

    def select(self, *columns: str) -> Frame:
        """Select columns whose names are in backticks, like Spark's parser."""
        found = [re.fullmatch("`((?:[^`]|``)*)`", name) for name in columns]
        return Frame(*(each[1].replace("``", "`") for each in found if each is not None))


class Table:
    """Stands for a session whose ``read`` returns these columns, or raises an error with this condition."""

    def __init__(self) -> None:
        self.found: str | Frame = "PATH_NOT_FOUND"

    @property
    def read(self) -> Table:
        return self

    def format(self, _: str) -> Table:
        return self

    def options(self, **_: str) -> Table:
        return self

    def option(self, *_: str) -> Table:
        return self

    def load(self, _: str) -> Frame:
        if isinstance(self.found, Frame):
            return self.found
        error = AnalysisException(self.found)
        error.getCondition = lambda: self.found  # type: ignore[method-assign,assignment,return-value]
        raise error


def kept(evolution: Evolution, *columns: str) -> list[str]:
    frame: Any = Frame(*columns)
    return evolution.kept(frame).columns


@pytest.fixture
def table() -> Table:
    return Table()


@pytest.fixture
def evolution(table: Table) -> Evolution:
    session: Any = table
    return Evolution(SinkSettings.of({"path": "/table", "schema.evolution": "ignore"}), session)


def test_another_error_than_a_missing_table_is_raised_and_the_table_is_read_again(
    table: Table, evolution: Evolution
) -> None:
    table.found = "FAILED_JDBC.CONNECTION"
    with pytest.raises(AnalysisException):
        kept(evolution, "id")
    table.found = Frame("id", "Name")
    assert kept(evolution, "id", "name", "more") == ["id", "name"]


def test_a_batch_that_is_written_again_with_more_columns_keeps_them_where_there_is_no_table(
    table: Table, evolution: Evolution
) -> None:
    assert kept(evolution, "id") == ["id"]
    assert kept(evolution, "id", "name") == ["id", "name"]
    table.found = Frame("id", "name")
    assert kept(evolution, "id", "name", "more") == ["id", "name"]


def test_a_column_with_a_backtick_in_its_name_is_kept(table: Table, evolution: Evolution) -> None:
    table.found = Frame("id", "a`b")
    assert kept(evolution, "id", "a`b", "more") == ["id", "a`b"]
