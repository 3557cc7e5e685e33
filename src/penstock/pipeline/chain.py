"""The transforms of a connector, in the order of its setting ``transforms``, as steps of the pipeline (KIP-66,
KIP-585).

Java: ``TransformationChain``, ``TransformationStage``, ``ConnectorConfig.transformationStages``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from penstock.api.batch import FIELDS, Batch
from penstock.api.config import with_prefix
from penstock.api.errors import ConfigError, ConnectError
from penstock.api.record import Record
from penstock.api.returned import applied_batch
from penstock.api.transform import Predicate, Transformation
from penstock.hosts.jvm.tasks.steps import JavaStepOf, in_jvm, java_step, only_java
from penstock.java.text import java_class_name
from penstock.pipeline.errors import PartlyAppliedError, PipelineStage, Step
from penstock.pipeline.telemetry.plugin_metrics import MetricsOfPlugins
from penstock.pipeline.trace import headline
from penstock.pipeline.transforms.column import BuiltIn
from penstock.pipeline.transforms.python_function import PythonFunction

log = logging.getLogger(__name__)

Resolve = Callable[..., type]
"""The class of a kind (``transformation``, ``predicate``, ``converter``, ``header_converter``) that a configuration
names, and as a third argument the version that it wants, if it wants one.
"""


class Chain:
    """The configured transforms; ``steps`` apply them, ``close`` closes them."""

    def __init__(self, steps: list[Step], plugins: Sequence[Transformation | Predicate] = ()) -> None:
        self.steps = steps
        self._plugins = plugins

    @classmethod
    def build(cls, config: Mapping[str, str], resolve: Resolve, metrics: MetricsOfPlugins | None = None) -> Chain:
        """Make the chain that a connector's configuration describes. Raises ConnectError, caused by the error of a
        plugin that can't be created or configured; those before it are closed.
        """
        plugins: list[Transformation | Predicate] = []
        try:
            return cls(cls._steps(config, resolve, metrics or MetricsOfPlugins({}), plugins), plugins)
        except Exception as e:
            cls([], plugins).close()
            raise ConnectError(headline(e)) from e

    @staticmethod
    def _steps(
        config: Mapping[str, str],
        resolve: Resolve,
        metrics: MetricsOfPlugins,
        plugins: list[Transformation | Predicate],
    ) -> list[Step]:
        """``plugins`` gets those that have been configured, also if a later one can't be."""
        steps: list[Step] = []
        measured: set[str] = set()
        for alias in aliases(config, "transforms"):
            own = with_prefix(config, f"transforms.{alias}.")
            own.pop("predicate", None)
            own.pop("negate", None)
            transform: Transformation = _create(resolve, "transformation", f"transforms.{alias}", own)
            transform.configure(own)
            plugins.append(transform)
            metrics.tell(transform, transformation=alias)
            condition = condition_of(config, alias, resolve)
            if condition is not None:
                plugins.append(condition.predicate)
                if condition.alias not in measured:  # two of one alias would register the same metrics
                    measured.add(condition.alias)
                    metrics.tell(condition.predicate, predicate=condition.alias)
            apply = _application(transform, java_step(transform, "transformation", own), condition)
            steps.append(Step(PipelineStage.TRANSFORMATION, java_class_name(type(transform)), apply, alias))
        return steps

    def close(self) -> None:
        for plugin in self._plugins:
            try:
                plugin.close()
            except Exception:
                log.warning("%s could not be closed", java_class_name(type(plugin)), exc_info=True)


def aliases(config: Mapping[str, str], name: str) -> list[str]:
    return [alias.strip() for alias in config.get(name, "").split(",") if alias.strip()]


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition of a transform: it applies to records for which a predicate is true, or with ``negate`` false."""

    alias: str
    predicate: Predicate
    java_step: JavaStepOf | None
    """The predicate in the JVM, if it is there."""
    negate: bool

    @property
    def takes_records(self) -> bool:
        return type(self.predicate).test_batch is Predicate.test_batch

    def test(self, record: Record) -> bool:
        return bool(self.predicate.test(record)) != self.negate

    def test_batch(self, batch: Batch) -> list[bool]:
        hits = [bool(hit) != self.negate for hit in self.predicate.test_batch(batch)]
        if len(hits) != len(batch):
            raise ConnectError(f"test_batch returned {len(hits)} answers for {len(batch)} records")
        return hits


def condition_of(config: Mapping[str, str], transform: str, resolve: Resolve) -> Condition | None:
    """Return the condition of the transform with this alias, with a predicate of its own, since it may count records.
    As in Java both settings are taken as they are written: an empty ``predicate`` is an unknown one, and a ``negate``
    with a blank is not true.
    """
    alias = config.get(f"transforms.{transform}.predicate")
    if alias is None:
        return None
    if alias not in aliases(config, "predicates"):
        raise ConfigError("predicate", alias, "it is not one of those that the setting predicates names")
    own = with_prefix(config, f"predicates.{alias}.")
    predicate: Predicate = _create(resolve, "predicate", f"predicates.{alias}", own)
    predicate.configure(own)
    negate = config.get(f"transforms.{transform}.negate", "false").lower() == "true"
    return Condition(alias, predicate, java_step(predicate, "predicate", own), negate)


def _create(resolve: Resolve, kind: str, prefix: str, own: Mapping[str, str]) -> Any:
    """``own`` is the plugin's configuration, in which ``type`` is its class."""
    name, version = own.get("type"), own.get("plugin.version")
    if name is None:
        raise ConfigError(f'Missing required configuration "{prefix}.type" which has no default value.')
    return (resolve(kind, name) if version is None else resolve(kind, name, version))()


def _application(
    transform: Transformation, step: JavaStepOf | None, condition: Condition | None
) -> Callable[[Batch], Batch]:
    """Applies the transform: in the JVM if it exists only there, or if the batch is there; else here."""
    if _takes_records(transform):
        return _one_by_one(transform, condition)
    here = transform.apply_batch if condition is None else _where(transform, condition)
    if step is None or (condition is not None and condition.java_step is None):
        return here
    always = only_java(transform)

    def apply(batch: Batch) -> Batch:
        if not (always or in_jvm(batch)):
            return here(batch)
        if condition is None or condition.java_step is None:
            return step().apply(batch)
        return step().apply(batch, condition.java_step(), condition.negate)

    return apply


def _takes_records(transform: Transformation) -> bool:
    if isinstance(transform, PythonFunction):
        return not transform.on_batches
    return type(transform).apply_batch is Transformation.apply_batch


def _one_by_one(transform: Transformation, condition: Condition | None) -> Callable[[Batch], Batch]:
    """Applies the transform once to each record that it counts for: as in Java, it may keep a state between them and
    change them in place. A predicate that takes records is asked about each just before it, so that it is not asked
    again about those behind one that fails.
    """

    record_condition = condition if condition is not None and condition.takes_records else None

    def apply(batch: Batch) -> Batch:
        hits = [True] * len(batch) if condition is None or record_condition is not None else condition.test_batch(batch)
        if not any(hits):
            return batch
        out: list[Any] = []
        for row, record in enumerate(batch.rows()):
            try:
                if record_condition is not None:
                    hits[row] = record_condition.test(record)
                changed = transform.apply(record) if hits[row] else record
            except Exception as e:
                if len(batch) == 1:
                    raise
                raise PartlyAppliedError(made(out, batch), row, e) from e
            if changed is not None:
                out.append(changed)
        return made(out, batch) if any(hits) else batch

    def made(records: list[Any], batch: Batch) -> Batch:
        return applied_batch(records) if records else batch.select(())

    return apply


def _where(transform: Transformation, condition: Condition) -> Callable[[Batch], Batch]:
    """Applies the transform to the records that it counts for, and keeps their places.

    A plugin gets each run of such records once, since it may keep a state: which records it drops can't be seen.
    """

    def apply(batch: Batch) -> Batch:
        hits = condition.test_batch(batch)
        rows = [i for i, hit in enumerate(hits) if hit]
        if not rows:
            return batch
        if len(rows) == len(batch):
            return transform.apply_batch(batch)
        if isinstance(transform, BuiltIn) and not isinstance(transform, PythonFunction):
            changed = transform.apply_batch(batch.select(rows))
            if not len(changed):
                return batch.select([i for i, hit in enumerate(hits) if not hit])
            if len(changed) == len(rows):
                return _scattered(batch, rows, changed)
        runs: list[Batch] = []
        for hit, group in groupby(range(len(batch)), hits.__getitem__):
            run = batch.select(list(group))
            runs.append(transform.apply_batch(run) if hit else run)
        return Batch.concat(runs)

    return apply


def _scattered(batch: Batch, rows: list[int], changed: Batch) -> Batch:
    columns: dict[str, list[Any]] = {}
    for name in FIELDS:
        columns[name] = column = list(getattr(batch, name))
        for i, value in zip(rows, getattr(changed, name), strict=True):
            column[i] = value
    return batch.with_(**columns)
