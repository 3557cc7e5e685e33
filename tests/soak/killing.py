"""The kill test: numbers are sent to Kafka while faults hit workers, their Sparks, their tasks and the broker.

With exactly once a read_committed reader must find every number once and in order, otherwise at least once. Workers
restart lost tasks: nothing is restarted by REST unless the plan says so, and no task may fail.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from faults.broker import FaultyBroker
from faults.inflict import Faults
from faults.plan import Plan
from soak.cluster import Cluster
from soak.counting import TASKS, Counters
from soak.failures import FailureWatch
from soak.report import Clock, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class KillTest:
    """Options. ``bound``: seconds; no counter that could run may be silent for longer after a fault. ``settings``:
    those of workers.
    """

    plan: Plan
    exactly_once: bool = True
    bound: float = 60.0
    settings: Mapping[str, str] = field(default_factory=dict)


def run(
    test: KillTest, bootstrap: str, folder: Path, say: Callable[[str], None], broker: FaultyBroker | None = None
) -> Outcome:
    """Run a kill test. ``broker`` is needed for faults of the broker; ``bootstrap`` bypasses its proxy."""
    clock = Clock()
    support = "enabled" if test.exactly_once else "disabled"
    settings = {**test.settings, "exactly__once__source__support": support}
    with Cluster(bootstrap if broker is None else broker.proxied, folder, **settings) as cluster:
        counters = Counters(cluster, bootstrap, test.exactly_once)
        faults = Faults(cluster, broker, list(counters.topics))
        counters.begin()
        say(f"{len(cluster.workers)} workers and {len(counters.topics) * TASKS} tasks run")
        begun, watch = time.time(), FailureWatch(cluster)
        watch.start()
        try:
            counted = faults.inflict_all(test.plan, say)
            settling = Clock()
            stuck = counters.wait_for_progress()
            settled = settling.seconds
        finally:
            failures = watch.stop()
        watched = (begun, time.time())
        counters.end()
        mishaps, of_cluster = cluster.mishaps(), cluster.figures()
        say("stopping")
    judged = counters.judge(watched, faults, test.bound)
    figures: dict[str, object] = {
        "seed": str(test.plan.seed),
        "exactly once": "on" if test.exactly_once else "off",
        "duration": f"{clock.seconds:.0f} s",
        "faults": counted,
        "failures": len(failures),
        "all tasks running after the last fault": f"after {settled:.1f} s",
        **of_cluster,
        **judged.figures,
    }
    return Outcome(figures, [*stuck, *failures, *mishaps, *judged.violations, *cluster.survivors])
