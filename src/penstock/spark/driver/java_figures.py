"""Memory, threads and garbage collection of Spark's Java, from its own MXBeans."""

from __future__ import annotations

from typing import Any


def java_figures(jvm: Any) -> dict[str, Any]:
    """``memory`` in bytes by area, ``threads``, and of each collector how often it ran and for how many seconds."""
    beans = jvm.java.lang.management.ManagementFactory
    memory = beans.getMemoryMXBean()
    return {
        "memory": {
            "heap": memory.getHeapMemoryUsage().getUsed(),
            "nonheap": memory.getNonHeapMemoryUsage().getUsed(),
        },
        "threads": beans.getThreadMXBean().getThreadCount(),
        "collections": {
            each.getName(): [each.getCollectionCount(), each.getCollectionTime() / 1000]
            for each in beans.getGarbageCollectorMXBeans()
        },
    }
