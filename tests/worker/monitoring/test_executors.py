from __future__ import annotations

import pytest

from penstock.core.model.tasks import SparkDied, SparkReady
from penstock.worker.monitoring.executors import Executors

LACKS = (
    "The executors' Python (python3 on two) has Penstock 0.0.1, and the worker is 0.1.0: both need the same version."
)


def shown(executors: Executors) -> list[tuple[str, str | None, str, int | None]]:
    return [(row.kind, row.worker, row.why, row.since_ms) for row in executors.rows()]


def test_executors_that_lack_something_have_rows_until_the_application_is_fit() -> None:
    executors = Executors("one:8083", clock=lambda: 7.0)
    executors.observe(SparkReady(4))
    assert shown(executors) == []
    executors.observe(SparkReady(4, queries=True, unfit=(LACKS,)))
    assert shown(executors) == [("executors", "one:8083", LACKS.rstrip("."), 7000)]
    executors.observe(SparkReady(4))  # the other application
    assert len(shown(executors)) == 1
    executors.observe(SparkReady(4, queries=True))
    assert shown(executors) == []


@pytest.mark.parametrize("queries", [False, True])
def test_executors_of_an_application_that_has_ended_have_no_rows(queries: bool) -> None:
    executors = Executors("one:8083")
    executors.observe(SparkReady(4, queries, (LACKS,)))
    assert len(shown(executors)) == 1
    executors.observe(SparkDied("It was killed.", not queries))
    assert len(shown(executors)) == 1
    executors.observe(SparkDied("It was killed.", queries))
    assert shown(executors) == []
