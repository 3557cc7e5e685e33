"""One Spark for all tests of hosting."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from penstock.core.model.tasks import SparkReady, TaskEnded, TaskId
from penstock.pipeline.task import TaskSpec
from penstock.spark.settings import HostSettings
from support.spark.host import Hosted, make_spec


@pytest.fixture(scope="session")
def spec() -> Callable[..., TaskSpec]:
    return make_spec


@pytest.fixture(scope="session")
def hosted() -> Iterator[Hosted]:
    """A running Spark, shared: take tasks of your own, and leave it running."""
    hosted = Hosted(HostSettings(graceful=60.0, rebalance_timeout=180.0))
    hosted.start()
    try:
        hosted.events.until(SparkReady)
        # The first task waits for the process that all are forked from.
        first = make_spec(fail="yes")
        hosted.run(first)
        hosted.events.until(TaskEnded, TaskId(first.connector, 0))
        yield hosted
    finally:
        hosted.close(20.0)
