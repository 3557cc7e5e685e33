"""Many connectors on one worker: times until they run, are restarted and are deleted, and their cost.

Their tasks have nothing new to read. The number of rebalances is known for Penstock's worker only.
"""

from __future__ import annotations

import re
import time
from functools import partial

from bench.connect import PATIENCE, CaseError, Connect
from bench.density import SHARED
from bench.processes import busy, megabytes
from bench.setting import Setting

_SECONDS = 10
_REBALANCES = re.compile(r"^kafka_connect_worker_rebalance_completed_rebalances_total (\S+)$", re.MULTILINE)


def many(most: int, more: dict[str, str], cluster: Connect, setting: Setting) -> dict[str, float]:
    """Measure ``most`` connectors with a task each, or fewer if there are fewer records; ``more``: additional settings
    of their configuration.
    """
    if cluster.pid is None:
        raise CaseError(f"many: the process of the worker at {cluster.url} can't be seen from here")
    topic, file = setting.create_topic(setting.name("many")), setting.folder / setting.name("many")
    file.write_text("one\n")
    config = {"connector.class": "FileStreamSource", "tasks.max": "1", "topic": topic, "file": str(file), **more}
    first, *others = [setting.name("many") for _ in range(min(most, setting.records) + 1)]
    cluster.put(first, config)  # starts Spark, if the worker has one
    cluster.running(first, time.perf_counter())
    time.sleep(_SECONDS)
    base = megabytes(cluster.pid)
    begun = rebalances(cluster)
    started = time.perf_counter()
    for name in others:
        cluster.put(name, config)
    figures = {"running s": _all_run(cluster, others, started)}
    time.sleep(_SECONDS)
    memory = megabytes(cluster.pid)
    figures["idle CPU %"] = busy(cluster.pid, _SECONDS)
    started = time.perf_counter()
    for name in others:
        cluster.restart(name)
    figures["restarted s"] = _all_run(cluster, others, started)
    started = time.perf_counter()
    for name in others:
        cluster.delete(name)
    figures["deleted s"] = _all_gone(cluster, others, started)
    if begun is not None and (ended := rebalances(cluster)) is not None:
        figures["rebalances"] = ended - begun
    cluster.delete(first)
    setting.delete_topics(topic)
    figures["MB a task"] = (memory - base) / len(others)
    return figures


def rebalances(cluster: Connect) -> float | None:
    """Return the number of rebalances that the worker has completed; None if it has no metrics page."""
    answer = cluster.http.get("/metrics")
    found = _REBALANCES.search(answer.text) if answer.status_code == 200 else None
    return float(found[1]) if found else None


def _all_run(cluster: Connect, names: list[str], since: float) -> float:
    """Wait until each connector has a task and all of them run; return the seconds since ``since``."""
    left = set(names)
    while time.perf_counter() - since < PATIENCE + len(names):
        answer = cluster.http.get("/connectors", params={"expand": "status"})
        if answer.status_code == 200:
            found = answer.json()
            for name in left & found.keys():
                status = found[name]["status"]
                states = {part["state"] for part in (status["connector"], *status["tasks"])}
                if "FAILED" in states:
                    cluster.check(name)
                if status["tasks"] and states == {"RUNNING"}:
                    left.discard(name)
            if not left:
                return time.perf_counter() - since
        time.sleep(0.1)
    raise CaseError(f"{cluster.name}: {len(left)} of {len(names)} connectors do not run")


def _all_gone(cluster: Connect, names: list[str], since: float) -> float:
    while time.perf_counter() - since < PATIENCE + len(names):
        answer = cluster.http.get("/connectors")
        if answer.status_code == 200 and not set(names) & set(answer.json()):
            return time.perf_counter() - since
        time.sleep(0.1)
    raise CaseError(f"{cluster.name}: not all of {len(names)} connectors are gone")


CASES = {
    f"many-{count}{suffix}": partial(many, count, more)
    for count in (200, 500)
    for suffix, more in (("", {}), ("-shared", SHARED))
}
