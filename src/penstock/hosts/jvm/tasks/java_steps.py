"""Which plugins of a chain can be applied in the JVM, to batches that are there.

Those of jars exist there only. Kafka's own exist in Java as well: they run there if the batch is there already, because
a neighbour was Java, so that its values need not cross. The bytes are the same either way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from penstock.api.batch import Batch
from penstock.hosts.jvm.tasks.converters import JavaConverter, JavaHeaderConverter
from penstock.hosts.jvm.tasks.remote_batch import BytesBatch, RemoteBatch
from penstock.hosts.jvm.tasks.steps import JavaStep, to_bytes
from penstock.hosts.jvm.tasks.task_jvm import TaskJvm
from penstock.hosts.jvm.tasks.transforms import JavaPredicate, JavaTransformation
from penstock.java.text import java_class_name

JavaStepOf = Callable[[], JavaStep]
"""Makes the step in the JVM at the first call."""

KAFKAS_OWN = "org.apache.kafka.connect."


def java_step(plugin: Any, kind: str, config: Mapping[str, str], is_key: bool = False) -> JavaStepOf | None:
    """The step in the JVM of this plugin, which has been configured so; None if there is none."""
    if only_java(plugin):
        return lambda: plugin.step
    name = java_class_name(type(plugin))
    jvm = TaskJvm.present()
    if jvm is None or not name.startswith(KAFKAS_OWN):
        return None
    return cache(lambda: JavaStep(jvm, kind, name, config, is_key=is_key))


def only_java(plugin: Any) -> bool:
    """Whether it is the plugin of a jar."""
    return isinstance(plugin, JavaTransformation | JavaPredicate | JavaConverter | JavaHeaderConverter)


def in_jvm(batch: Batch) -> bool:
    return isinstance(batch, RemoteBatch)


def as_bytes(batch: Batch, steps: Mapping[str, JavaStepOf]) -> Batch:
    """A batch in the JVM after converters of Kafka's for key, value and header, in one go; the batch as it is if that
    fails, since one after the other they find the record and the converter with which it does.
    """
    if not isinstance(batch, RemoteBatch):
        return batch
    try:
        return to_bytes(batch, {part: step() for part, step in steps.items()})
    except Exception:
        return batch


def in_bytes(batch: Batch) -> bool:
    """Whether ``as_bytes`` has converted it."""
    return isinstance(batch, BytesBatch)


def without_headers(batch: Batch) -> bool:
    """Whether no record has any; does not fetch those that are in the JVM."""
    return not (batch.has_headers if isinstance(batch, RemoteBatch) else any(batch.headers))


def without_keys(batch: Batch) -> bool:
    """Whether no record of a batch in the JVM has a key, or a schema of one."""
    return isinstance(batch, RemoteBatch) and not batch.has_keys
