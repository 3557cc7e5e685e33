"""The lines that a test captures: they keep pytest's format beside loggers of other libraries."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from pyspark.logger import PySparkLogger


class Textless(Exception):
    def __str__(self) -> str:
        raise AttributeError("text")


@pytest.fixture(scope="module")
def private_logger() -> Iterator[None]:
    """A logger as PySpark makes it for an AnalysisException; pytest adds its handlers to it before the test."""
    logger = PySparkLogger.getLogger("penstock.private")
    logger.propagate = False
    yield
    logger.propagate = True


def test_an_error_without_a_text_is_logged_beside_a_logger_of_pyspark(
    private_logger: None, caplog: pytest.LogCaptureFixture
) -> None:
    logging.getLogger("penstock").error("An error", exc_info=Textless())
    assert caplog.text.startswith("ERROR")
