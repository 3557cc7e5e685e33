"""``tasks.max`` is a number in whatever way it is written."""

from __future__ import annotations

import pytest

from penstock.core.model import messages as m
from simulation.cluster import Cluster


@pytest.mark.parametrize("written", ["3", "+3", " 3 ", "0" * 5000 + "3", "\u0663"])
def test_tasks_max_limits_the_number_of_tasks(written: str) -> None:
    cluster = Cluster([].append, lambda channels: 0)
    cluster.start("a")
    cluster.send("a", m.PutConfig("c", {"connector.class": "Source", "tasks.max": written}))
    cluster.settle()
    assert len(cluster.workers["a"].herder.state.connectors["c"].task_configs) == 3
