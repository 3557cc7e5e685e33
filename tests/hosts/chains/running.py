"""Running chains and converters on batches that are here or in a JVM."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.api.batch import Batch
from penstock.hosts.jvm.tasks.steps import JavaConverter, JavaHeaderConverter, JavaPredicate, JavaTransformation
from penstock.pipeline.chain import Chain
from penstock.pipeline.conversion import Conversion
from penstock.pipeline.errors import ErrorHandler, ErrorSettings, RecordFailure, Step
from penstock.pipeline.metrics import Metrics
from support.tasks.runs import resolve

TRANSFORMS = "org.apache.kafka.connect.transforms."
BASES: dict[str, tuple[type, ...]] = {
    "Mark": (JavaTransformation,),
    "ValueContains": (JavaPredicate,),
    "EverySecond": (JavaPredicate,),
    "Backwards": (JavaConverter, JavaHeaderConverter),
    "KafkasJson": (JavaConverter,),
}


def resolve_all(kind: str, name: str) -> type:
    """Resolve plugins, including those of the jar ``chain``."""
    package, _, simple = name.rpartition(".")
    if package == "penstock.tests.chain":
        return type(simple, BASES[simple], {"java_name": name})
    return resolve(kind, name)


@dataclass
class Run:
    plugin_path: tuple[str, ...]
    connector: str = "chains"
    task: int = 0
    config: dict[str, str] = field(default_factory=dict)
    connector_config: dict[str, str] = field(default_factory=dict)
    worker_config: dict[str, str] = field(default_factory=dict)


def here(batch: Batch) -> Batch:
    """Return the same batch with all of its columns in Python."""
    return Batch.of(
        batch.topics,
        batch.value_column,
        value_schema=batch.value_schemas,
        keys=batch.key_column,
        key_schema=batch.key_schemas,
        partitions=batch.partitions,
        timestamps=batch.timestamps,
        headers=batch.headers,
    )


Result = tuple[list[Any], ...] | str


def bytes_of(batch: Batch) -> Result:
    headers = [[(header.key, header.value) for header in row] for row in batch.headers]
    return batch.topics, batch.partitions, batch.keys, batch.values, headers, batch.timestamps


def run(
    config: dict[str, str], batch: Batch, place: Callable[[Batch], Batch] = lambda batch: batch, at_once: bool = False
) -> Result:
    """Return the bytes after all steps, or the class of the error; ``place`` moves the batch before each step."""
    chain = Chain.build(config, resolve_all)
    conversion = Conversion.build(config, {}, resolve_all)
    try:
        for step in [*chain.steps, *(conversion.from_java() if at_once else conversion.from_connect())]:
            batch = step.apply(place(batch))
            if not len(batch):
                break
        return bytes_of(batch)
    except Exception as error:
        return getattr(type(error), "java_name", type(error).__name__)
    finally:
        chain.close()
        conversion.close()


def handled(steps: list[Step], batch: Batch, **how: Any) -> tuple[Batch, list[RecordFailure], Counts]:
    """Return the batch after the steps, the reported errors, and the metrics."""
    failures: list[RecordFailure] = []
    counts = Counts(lambda values: None, ())
    errors = ErrorHandler(ErrorSettings(**how), counts, lambda seconds: False, (failures.append,))
    return errors.run(steps, batch), failures, counts


class Counts(Metrics):
    """Metrics that can be read."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.added: Counter[str] = Counter()

    def add(self, name: str, count: int = 1) -> None:
        super().add(name, count)
        self.added[name] += count
