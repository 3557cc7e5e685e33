"""Memory, threads and garbage collection of Spark's Java, from its own MXBeans."""

from __future__ import annotations

from typing import Any

from penstock.spark.messages.driver import CollectorFigures, JavaFigures


def java_figures(jvm: Any) -> JavaFigures:
    """Read them by Py4J. Raises what that raises if Java has ended."""
    beans = jvm.java.lang.management.ManagementFactory
    memory = beans.getMemoryMXBean()
    return JavaFigures(
        memory={
            "heap": memory.getHeapMemoryUsage().getUsed(),
            "nonheap": memory.getNonHeapMemoryUsage().getUsed(),
        },
        threads=beans.getThreadMXBean().getThreadCount(),
        collections={
            each.getName(): CollectorFigures(each.getCollectionCount(), each.getCollectionTime() / 1000)
            for each in beans.getGarbageCollectorMXBeans()
        },
    )
