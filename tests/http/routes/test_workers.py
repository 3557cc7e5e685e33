"""``/penstock/v1/workers``: every worker lists all workers of the group."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from penstock.core.model.tasks import SparkDied, SparkFigures, SparkReady

WORKERS = "/penstock/v1/workers"


def test_every_worker_tells_of_all(api: Any, other: Any, cluster: Any) -> None:
    """Workers that run nothing are listed too."""
    generation = cluster.workers["one"].herder.membership.generation
    for worker in (api, other):
        found = worker.get(WORKERS).json()
        assert (found["leader"], found["unreachable"]) == ("one", [])
        assert {each["worker_id"]: each["generation"] for each in found["workers"]} == {
            "one": generation,
            "two": generation,
        }


def test_only_the_leader_knows_all(api: Any, other: Any) -> None:
    (one,), (two,) = (each.get(f"{WORKERS}?here=true").json()["workers"] for each in (api, other))
    assert (one["worker_id"], one["knows"]) == ("one", ["http://one", "http://two"])
    assert (two["worker_id"], two["knows"]) == ("two", ["http://one"])


def test_spark_of_each(api: Any, cluster: Any) -> None:
    memory = {"memory": {"heap": 7 << 20, "nonheap": 1}, "threads": 1, "collections": {}}
    cluster.metrics("one").observe(SparkReady(4))
    cluster.metrics("one").observe(SparkFigures(memory))
    cluster.metrics("two").observe(SparkReady(4))
    cluster.metrics("two").observe(SparkReady(4, queries=True))
    cluster.metrics("two").observe(SparkDied("it was killed", queries=True))
    one, two = (worker["spark"] for worker in api.get(WORKERS).json()["workers"])
    assert one == [{"application": "hosted", "running": True, "ended": 0, "heap_bytes": 7 << 20}]
    assert [(each["application"], each["running"], each["ended"]) for each in two] == [
        ("hosted", True, 0),
        ("queries", False, 1),
    ]


def test_a_worker_that_does_not_answer_is_named(api: Any, other: Any, cluster: Any) -> None:
    membership = cluster.workers["one"].herder.membership
    membership.owners = replace(membership.owners, workers=(*membership.owners.workers, "http://gone:8083/"))
    for each in (api, other):
        found = each.get(WORKERS).json()
        assert found["unreachable"] == ["gone:8083"]
        assert [worker["worker_id"] for worker in found["workers"]] == ["one", "two"]


@pytest.mark.parametrize("lost", ["one", "two"])
def test_a_worker_that_is_in_no_group_knows_itself_only(api: Any, other: Any, cluster: Any, lost: str) -> None:
    cluster.workers[lost].herder.membership.leave()
    found = {"one": api, "two": other}[lost].get(WORKERS).json()
    assert found == {
        "leader": None,
        "workers": [{"worker_id": lost, "generation": None, "knows": [], "spark": []}],
        "unreachable": [],
    }
