"""A run of a sink task: what its loop works with is made here, and closed again. Java: ``Worker.startSinkTask``."""

from __future__ import annotations

import contextlib
import logging

from penstock.api.sink import SinkTask
from penstock.core.model.tasks import TaskId
from penstock.kafka.client_settings import connector_consumer, connector_producer, max_poll_records
from penstock.kafka.clients import consumer_config, make_admin, new_consumer, new_producer
from penstock.pipeline.chain import Chain, Resolve
from penstock.pipeline.conversion import Conversion
from penstock.pipeline.dead_letters import DeadLetterQueue, OriginalRecords, make_queue, queue_of
from penstock.pipeline.errors import ErrorHandler, ErrorSettings, FailureReporter, LogReporter, StoppedError
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.runtime import StopOnce
from penstock.pipeline.sink.context import SinkContext, WorkerErrantRecordReporter
from penstock.pipeline.sink.loop import SinkLoop
from penstock.pipeline.sink.offsets import SinkTaskOffsets
from penstock.pipeline.sink.subscription import Subscription
from penstock.pipeline.task import TaskControl, TaskHost, TaskSpec, await_start, seconds_of
from penstock.pipeline.topics import ActiveTopics

log = logging.getLogger(__name__)

TOTALS = (
    "sink-record-read-total",
    "sink-record-send-total",
    "offset-commit-completion-total",
    "offset-commit-skip-total",
    "sink-record-active-count",
    "partition-count",
)
RECORDS_OF_A_PUT = 2000
"""At most, unless ``max.poll.records`` says otherwise."""


def run_sink_task(
    spec: TaskSpec, task_class: type[SinkTask], control: TaskControl, host: TaskHost, resolve: Resolve
) -> None:
    """Run the task until it is stopped; returns when everything it held is closed.

    Raises what ended it otherwise, after the same cleanup; ``trace.trace`` makes the text of its status. ``resolve``
    finds plugin classes.
    """
    id = TaskId(spec.connector, spec.task)
    connector = {**spec.connector_config, "name": spec.connector}
    with contextlib.ExitStack() as stack:
        metrics = Metrics(host.metrics, TOTALS)
        letters = OriginalRecords()
        settings = ErrorSettings.of(connector)
        reporters: list[FailureReporter] = [LogReporter(id, settings, metrics)]
        queue = None
        if queue_of(connector) is not None:
            make_queue(
                make_admin(spec.worker_config, connector, client_id=f"connector-dlq-adminclient-{id}"), connector
            )
            java = connector_producer(spec.worker_config, connector, f"connector-dlq-producer-{id}")
            queue = DeadLetterQueue(id, connector, new_producer(java), metrics, letters.original)
            reporters.insert(0, queue)
        errors = ErrorHandler(settings, metrics, control.halted.wait, tuple(reporters))
        letters.conversion = conversion = Conversion.build(connector, spec.worker_config, resolve)
        stack.callback(conversion.close)
        chain = Chain.build(connector, resolve)
        stack.callback(chain.close)
        if not await_start(control, host):
            return
        task = task_class()
        reporter = WorkerErrantRecordReporter(errors) if queue is not None or settings.log else None
        context = SinkContext(dict(spec.config), reporter)
        task.context = context
        timeout = seconds_of(spec, "offset.flush.timeout.ms", "5000")
        offsets = SinkTaskOffsets(metrics, timeout)
        java_consumer = connector_consumer(spec.worker_config, connector, f"connector-consumer-{id}")
        native = consumer_config(java_consumer)
        consumer = new_consumer(java_consumer, on_commit=offsets.answered)
        offsets.consumer = consumer
        loop = SinkLoop(
            task,
            control,
            host,
            consumer,
            offsets,
            context,
            reporter,
            queue,
            errors,
            [*conversion.to_connect(), ActiveTopics(spec, control, host).step(), *chain.steps],
            letters,
            metrics,
            Subscription(connector, native["metadata.max.age.ms"] / 1000),
            most=max_poll_records(spec.worker_config, connector) or RECORDS_OF_A_PUT,
            interval=seconds_of(spec, "offset.flush.interval.ms", "60000"),
            timeout=timeout,
            reset=str(native["auto.offset.reset"]),
            gradual="cooperative" in str(native.get("partition.assignment.strategy", ""))
            or native.get("group.protocol") == "consumer",
        )
        metrics.before_report = loop.measure
        stack.callback(loop.leave)
        stack.callback(StopOnce(task.stop))
        task.start(dict(spec.config))
        log.info("%s Sink task finished initialization and start", id)
        host.running()
        try:
            loop.run()
        except StoppedError as stopped:
            log.info("%s %s; it will be read again after the next start", id, stopped)
        finally:
            loop.close_all()
