"""One preview: records read, and each taken through the steps of the pipeline, one by one.

The steps are traced one record and one step at a time, with what each of them did.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from penstock.api.batch import Batch
from penstock.api.errors import ConfigError
from penstock.api.paths import folders_of, limit_to_folders
from penstock.hosts.jvm.tasks.task_jvm import task_jvm
from penstock.hosts.python import wire
from penstock.pipeline.chain import Resolve, aliases, condition_of
from penstock.pipeline.conversion import conversion_and_chain
from penstock.pipeline.converters.registry.converter import RegistryConverter
from penstock.pipeline.errors import Step
from penstock.pipeline.task import TaskSpec
from penstock.pipeline.trace import headline
from penstock.plugins import Plugins
from penstock.plugins.jars import JavaSettings, task_classes
from penstock.preview import shown
from penstock.preview.messages import (
    PreviewAnswer,
    PreviewedRecord,
    PreviewedStep,
    PreviewFailure,
    PreviewRequest,
    RecordsRequest,
    StepFailure,
)
from penstock.preview.poll import HarmfulError, harmless_tasks, poll
from penstock.preview.sample import sample


def preview(request: PreviewRequest) -> PreviewAnswer:
    """Try a configuration; an error that keeps it from being tried at all is part of the answer."""
    kind, stage = "unknown", "CONFIGURATION"
    try:
        java = JavaSettings.of(request.worker, tuple(request.plugin_path))
        plugins = Plugins.discover(tuple(request.plugin_path), task_classes(java), request.worker)
        kind, resolve = plugins.kind(request.connector), plugins.resolver(request.connector)
        with task_jvm(spec_of(request, kind)), steps_of(request.connector, request.worker, resolve, kind) as steps:
            stage = "KAFKA_CONSUME" if kind == "sink" else "TASK_POLL"
            batch = sample(request) if kind == "sink" else _polled(plugins, request)
            rows = [] if batch is None else [batch.select([i]) for i in range(len(batch))]
            records = [traced(row, steps) for row in rows]
    except Exception as error:
        message = str(error) if isinstance(error, (ConfigError, HarmfulError)) else headline(error)
        return PreviewAnswer(kind, [], PreviewFailure(stage, message))
    return PreviewAnswer(kind, records, None)


def _polled(plugins: Plugins, request: PreviewRequest) -> Batch | None:
    if request.sampled is not None:
        found: Batch | None = wire.read(base64.b64decode(request.sampled)) if request.sampled else None
        return found
    limit_to_folders(folders_of(request.worker))
    connector = plugins.connector(request.connector)()
    return poll(connector, request, harmless_tasks(connector, request))


def spec_of(request: PreviewRequest | RecordsRequest, kind: str) -> TaskSpec:
    return TaskSpec(
        connector=request.connector.get("name", "preview"),
        task=0,
        run=0,
        kind=kind,
        task_class="",
        config=request.connector,
        connector_config=request.connector,
        worker_config=request.worker,
        plugin_path=tuple(request.plugin_path),
    )


@dataclass(frozen=True, slots=True)
class TracedStep:
    """A step, and whether a record passes its predicate; None for a step without one."""

    step: Step
    taken: Callable[[Batch], bool] | None = None


@contextmanager
def steps_of(
    config: Mapping[str, str], worker: Mapping[str, str], resolve: Resolve, kind: str
) -> Iterator[list[TracedStep]]:
    """Provide the steps of a connector with this configuration, in order. Raises the error of a plugin's configure."""
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


def traced(record: Batch, steps: Sequence[TracedStep]) -> PreviewedRecord:
    """Take one record through the steps, and report what each of them did.

    A step shows the record after it if it has changed it; if a transform makes several records, the first is followed.
    """
    before, schemas = shown.record(record), _schemas(record)
    first = before
    done: list[PreviewedStep] = []
    for each in steps:
        step = PreviewedStep(each.step.stage.name, each.step.plugin, each.step.alias)
        taken: bool | UnsetType = UNSET
        count: int | UnsetType = UNSET
        try:
            if each.taken is not None:
                taken = each.taken(record)
            changed = each.step.apply(record)
            count = len(changed)
            if not count:
                done.append(replace(step, predicate=taken, records=count))
                return PreviewedRecord(first, done, None, None)
            record = changed.select([0]) if count > 1 else changed
            after, now = shown.record(record), _schemas(record)
        except Exception as error:
            done.append(replace(step, predicate=taken, records=count))
            return PreviewedRecord(first, done, None, StepFailure(step.stage, step.plugin, headline(error)))
        differs = after != before or now != schemas
        shown_after = after if differs else UNSET
        done.append(replace(step, predicate=taken, records=count, changed=differs, after=shown_after))
        before, schemas = after, now
    result = {**before, "bytes": {"key": shown.size(record.keys[0]), "value": shown.size(record.values[0])}}
    return PreviewedRecord(first, done, result, None)


def _schemas(record: Batch) -> tuple[Any, ...]:
    """Return the schemas of a record: a cast may change nothing that a schema in a few words, or the value, shows."""
    return record.key_schemas[0], record.value_schemas[0], [header[1:-1] for header in record.headers[0] or ()]
