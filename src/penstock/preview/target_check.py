"""One check: whether what a configuration names can be reached with its credentials. Nothing is changed or created.

The steps run on a thread, so that those that have ended are reported when the time is over.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from penstock.api.check import Address, CheckStep, KafkaTarget, TargetCheck
from penstock.api.errors import ConfigError
from penstock.api.paths import folders_of, limit_to_folders
from penstock.core.config.internal_topics import InternalTopics
from penstock.core.config.sink import topics_of
from penstock.kafka.client_settings import connector_consumer, connector_producer
from penstock.pipeline.conversion import Conversion
from penstock.pipeline.converters.registry.converter import RegistryConverter
from penstock.pipeline.trace import headline
from penstock.plugins import Plugins
from penstock.plugins.jars import JavaSettings, task_classes
from penstock.preview.cluster_check import check_cluster, reach
from penstock.preview.messages import CheckAnswer, CheckRequest

DEAD_LETTERS = "errors.deadletterqueue.topic.name"
CLIENT = "penstock-check"


def check_targets(request: CheckRequest) -> CheckAnswer:
    """Return the steps that have ended in time, and one that says so if not all have."""
    found: list[CheckStep] = []
    done = found.append

    def run() -> None:
        try:
            for step in _steps(request):
                done(step)
        except Exception as error:
            done(_raised("connector", error))

    thread = threading.Thread(target=run, name="check", daemon=True)
    thread.start()
    thread.join(request.seconds)
    steps = list(found)
    if thread.is_alive():
        after = f" after the step {steps[-1].step} of {steps[-1].part}" if steps else ""
        steps.append(CheckStep("check", "time", "failed", f"There is no answer{after} within {request.seconds:g} s"))
    return CheckAnswer(steps=[asdict(step) for step in steps])


def _steps(request: CheckRequest) -> Iterator[CheckStep]:
    config, worker = request.connector, request.worker
    limit_to_folders(folders_of(worker))
    plugins = Plugins.discover(
        tuple(request.plugin_path), task_classes(JavaSettings.of(worker, tuple(request.plugin_path))), worker
    )
    for target in _kafka(config, worker, plugins.kind(config)):
        yield from check_cluster(target, request.internal_topics)
    yield from _converters(request, plugins)
    checked = False
    for step in _guarded(plugins.connector(config)().check_target(config), request):
        checked = True
        yield step
    if not checked:
        text = f"{config.get('connector.class')} has no check of its target"
        yield CheckStep("target", "login", "not checked", text)


def _guarded(check: TargetCheck, request: CheckRequest) -> Iterator[CheckStep]:
    """Run a connector's check, and look at what it asks the runtime to look at."""
    reached: Any = None  # by which a generator is started
    while True:
        try:
            asked = check.send(reached)
        except StopIteration:
            return
        except Exception as error:
            yield _raised("target", error)
            return
        reached = True
        for step in _looked_at(asked, request.internal_topics):
            reached = reached and step.outcome != "failed"
            yield step


def _looked_at(asked: CheckStep | Address | KafkaTarget, internal: InternalTopics) -> Iterable[CheckStep]:
    match asked:
        case CheckStep():
            return [asked]
        case Address():
            return reach(asked)
        case KafkaTarget():
            return check_cluster(asked, internal)


def _kafka(config: Mapping[str, str], worker: Mapping[str, str], kind: str) -> Iterator[KafkaTarget]:
    """Yield the clusters that the connector's own clients use, with its overrides."""
    if kind == "sink":
        consumer = connector_consumer(worker, config, CLIENT)
        topics, pattern = tuple(topics_of(config.get("topics"))), config.get("topics.regex") or None
        yield KafkaTarget("consumer", consumer, reads=topics, pattern=pattern, group=consumer["group.id"])
        if letters := config.get(DEAD_LETTERS, "").strip():
            producer = connector_producer(worker, config, CLIENT)
            yield KafkaTarget("dead letter queue", producer, writes=(letters,))
    elif kind == "source":
        topic = config.get("topic", "").strip()
        writes = (topic,) if topic else ()
        yield KafkaTarget("producer", connector_producer(worker, config, CLIENT), writes=writes)


def _converters(request: CheckRequest, plugins: Plugins) -> Iterator[CheckStep]:
    """Yield whether the registries of the converters answer."""
    config = request.connector
    try:
        conversion = Conversion.build(config, request.worker, plugins.resolver(config))
    except Exception as error:
        yield _raised("converters", error)
        return
    try:
        for name, converter in (("key.converter", conversion.key), ("value.converter", conversion.value)):
            if not isinstance(converter, RegistryConverter):
                continue
            converter.waits = False
            try:
                subjects = converter.registry.subjects("The subjects can't be listed")
            except Exception as error:
                yield _raised(name, error, "registry")
            else:
                yield CheckStep(name, "registry", "ok", f"The Schema Registry answers; it has {len(subjects)} subjects")
    finally:
        conversion.close()


def _raised(part: str, error: Exception, step: str = "configuration") -> CheckStep:
    return CheckStep(part, step, "failed", str(error) if isinstance(error, ConfigError) else headline(error))
