"""The plugins of a connector's converters and transforms in one of Spark's Python processes, those of jars included."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.hosts.jvm.tasks.task_jvm import task_jvm
from penstock.pipeline.chain import Resolve
from penstock.pipeline.task import TaskSpec
from penstock.spark.query.safe import SafeSpec


@contextmanager
def plugins_for(safe: SafeSpec, spec: TaskSpec) -> Iterator[tuple[TaskSpec, Resolve]]:
    """The spec as it holds on this machine, and what finds its classes. ``spec`` is what ``safe`` has.

    Inside, plugins of jars find the connector's JVM on this machine, with a session for this partition alone.
    """
    from penstock.spark.task import plugins, resolver, with_shipped_jars

    known = plugins(spec.plugin_path)
    if not safe.jars:
        yield spec, known.resolver(spec.connector_config)
        return
    here = with_shipped_jars(spec)
    with task_jvm(here, partition=True):
        yield here, resolver(here, known)
