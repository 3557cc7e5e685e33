"""Times of operators' requests: start and restart of connectors, answers of the REST API."""

from __future__ import annotations

import time

from bench.connect import Connect
from bench.setting import Setting


def lifecycle(cluster: Connect, setting: Setting) -> dict[str, float]:
    """Measure the time from the request until connector and task are RUNNING."""
    name = setting.create_topic(setting.name("lifecycle"))
    file = setting.folder / f"{name}.txt"
    file.write_text("one\n")
    started = time.perf_counter()
    cluster.put(name, {"connector.class": "FileStreamSource", "tasks.max": "1", "topic": name, "file": str(file)})
    created = cluster.running(name, started)
    time.sleep(2)
    started = time.perf_counter()
    cluster.restart(name)
    time.sleep(0.05)
    restarted = cluster.running(name, started)
    cluster.delete(name)
    setting.delete_topics(name)
    return {"create ms": created, "restart ms": restarted}


def rest(cluster: Connect, setting: Setting) -> dict[str, float]:
    """Measure ``GET /connectors?expand=status`` with 50 paused connectors."""
    names = [setting.name("rest") for _ in range(50)]
    for name in names:
        absent = str(setting.folder / "absent.txt")
        cluster.put(name, {"connector.class": "FileStreamSource", "tasks.max": "1", "topic": name, "file": absent})
        cluster.http.put(f"/connectors/{name}/pause")
    times = []
    for _ in range(200):
        started = time.perf_counter()
        cluster.http.get("/connectors", params={"expand": "status"}).raise_for_status()
        times.append((time.perf_counter() - started) * 1000)
    for name in names:
        cluster.delete(name)
    times.sort()
    return {"p50 ms": times[100], "p99 ms": times[197]}
