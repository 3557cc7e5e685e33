"""A group for each test, and workers that are its members."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest

from support.kafka.group_worker import Worker


@pytest.fixture
def group() -> str:
    return f"group-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def start(bootstrap: str, group: str) -> Iterator[Callable[..., Worker]]:
    workers = []

    def start(name: str, **options: object) -> Worker:
        workers.append(Worker(bootstrap, group, name, **options))
        return workers[-1]

    yield start
    for worker in workers:
        worker.stop()
