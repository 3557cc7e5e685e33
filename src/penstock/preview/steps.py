"""The steps of the pipeline, one record and one step at a time, with what each of them did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from penstock.api.batch import Batch
from penstock.pipeline.chain import Resolve, aliases, condition_of
from penstock.pipeline.conversion import conversion_and_chain
from penstock.pipeline.converters.registry.converter import RegistryConverter
from penstock.pipeline.errors import Step
from penstock.pipeline.trace import headline
from penstock.preview import shown


@dataclass(frozen=True, slots=True)
class TracedStep:
    """A step, and whether a record passes its predicate; None for a step without one."""

    step: Step
    taken: Callable[[Batch], bool] | None = None


@contextmanager
def steps_of(
    config: Mapping[str, str], worker: Mapping[str, str], resolve: Resolve, kind: str
) -> Iterator[list[TracedStep]]:
    """Those of a connector with this configuration, in order. Raises what a plugin raises that can't be configured."""
    with conversion_and_chain(config, worker, resolve) as (conversion, chain):
        for converter in (conversion.key, conversion.value):
            if isinstance(converter, RegistryConverter):
                converter.waits = False
        transforms = [
            TracedStep(step, _predicate(config, alias, resolve))
            for alias, step in zip(aliases(config, "transforms"), chain.steps, strict=True)
        ]
        if kind == "sink":
            yield [*map(TracedStep, conversion.to_connect()), *transforms]
        else:
            yield [*transforms, *map(TracedStep, conversion.from_connect())]


def _predicate(config: Mapping[str, str], alias: str, resolve: Resolve) -> Callable[[Batch], bool] | None:
    condition = condition_of(config, alias, resolve)
    return None if condition is None else lambda batch: condition.test_batch(batch)[0]


def traced(record: Batch, steps: Sequence[TracedStep]) -> dict[str, Any]:
    """What happens to one record: ``before``, its ``steps``, and ``result`` (None if it was dropped) or ``error``.

    A step shows the record ``after`` it if it has changed it; a transform that makes several records of it is followed
    with the first.
    """
    told: list[dict[str, Any]] = []
    before, schemas = shown.record(record), _schemas(record)
    answer: dict[str, Any] = {"before": before, "steps": told, "result": None, "error": None}
    for each in steps:
        step: dict[str, Any] = {"stage": each.step.stage.name, "class": each.step.plugin, "alias": each.step.alias}
        told.append(step)
        try:
            if each.taken is not None:
                step["predicate"] = each.taken(record)
            changed = each.step.apply(record)
            step["records"] = len(changed)
            if not len(changed):
                return answer
            record = changed.select([0]) if len(changed) > 1 else changed
            after, now = shown.record(record), _schemas(record)
        except Exception as error:
            answer["error"] = {"stage": each.step.stage.name, "class": each.step.plugin, "message": headline(error)}
            return answer
        step["changed"] = after != before or now != schemas
        if step["changed"]:
            step["after"] = after
        before, schemas = after, now
    answer["result"] = {**before, "bytes": {"key": shown.size(record.keys[0]), "value": shown.size(record.values[0])}}
    return answer


def _schemas(record: Batch) -> tuple[Any, ...]:
    """Which are shown in a few words: a cast may change nothing that they, or the values, show."""
    return record.key_schemas[0], record.value_schemas[0], [header[1:-1] for header in record.headers[0] or ()]
