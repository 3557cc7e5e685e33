"""Some records of a source whose task is a query, for a preview: by a task that is made, polled and dropped.

Its offsets are stored nowhere. Spark's checkpoint of a stream goes to a temporary folder of the driver, which is enough
for a stream without a state of its own, as all are here.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.api.batch import Batch
from penstock.api.source import SourceTask
from penstock.connectors.jdbc.source.definition import RETRIES
from penstock.core.model.tasks import TaskId
from penstock.hosts.python.wire import whole, write
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.source.offsets import SourceTaskOffsets
from penstock.pipeline.source.task import SourceContext
from penstock.pipeline.task import TaskSpec
from penstock.pipeline.telemetry.plugin_metrics import MetricsOfPlugins
from penstock.spark.query.dataframes import DriverContext
from penstock.spark.query.jdbc.source.task import JdbcSource
from penstock.spark.query.limits import QueryLimits
from penstock.spark.query.safe import Safe
from penstock.spark.query.source.pausing import BetweenBatches
from penstock.spark.query.source.task import QuerySource
from penstock.spark.query.source.transfer import ToTask
from penstock.spark.task import named

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

IDLE_SECONDS = 3.0
"""Seconds without a record after which a source that has given some is taken to have no more."""
MAX_BYTES = 16 << 20


def sample(spec: TaskSpec, session: SparkSession, limit: int, seconds: float) -> Batch | None:
    """Return at most ``limit`` records that come within ``seconds``, or None if none do.

    ``session`` is for this alone. Raises what the task raises.
    """
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(limit))
    with ExitStack() as stack:
        task, config = stack.enter_context(_made(spec, session))
        offsets = SourceTaskOffsets(spec)
        metrics = Metrics(lambda values: None, ())
        plugin_metrics = MetricsOfPlugins({}).of()
        task.context = SourceContext(config, offsets, None, plugin_metrics, metrics, spec.internal_topics)
        task.start(config)
        return _polled(task, offsets, limit, seconds)


def packed(batch: Batch) -> bytes:
    """Encode a batch as ``hosts.python.wire`` reads it; records that do not fit in MAX_BYTES are left out."""
    while len(data := write(whole(batch))) > MAX_BYTES and len(batch) > 1:
        batch = batch.select(range(len(batch) // 2))
    return data


@contextmanager
def _made(spec: TaskSpec, session: SparkSession) -> Iterator[tuple[SourceTask, dict[str, str]]]:
    """Make the task; yield it with its configuration."""
    task: JdbcSource | QuerySource
    host = str(session.conf.get("spark.driver.host"))
    with ExitStack() as stack:
        kind = named(spec.task_class)
        if kind.reads == "jdbc":
            task = JdbcSource(spec, session, stack.enter_context(Safe(host)), lambda: None)
            config = {**spec.config, RETRIES: "0"}
        else:
            prefix = "penstock-preview-"
            notes = stack.enter_context(tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True))
            id, owner = TaskId(spec.connector, spec.task), "preview"
            query = DriverContext(session, spec.connector, None, "")
            begin, folder = BetweenBatches(), Path(notes).as_uri()
            limits = QueryLimits.of(spec.worker_config, kind)
            task = QuerySource(kind, query, id, begin, lambda: None, owner, lambda _: ToTask(host), limits, folder)
            config = kind.for_preview(spec.config)
        try:
            yield task, config
        finally:
            task.end()


def _polled(task: SourceTask, offsets: SourceTaskOffsets, limit: int, seconds: float) -> Batch | None:
    found: list[Batch] = []
    until = end = time.monotonic() + seconds
    while sum(map(len, found)) < limit and time.monotonic() < until:
        batch = task.poll()
        if batch is not None:
            assert isinstance(batch, Batch)
            found.append(batch)
            until = min(end, time.monotonic() + IDLE_SECONDS)
            continue
        offsets.committed(offsets.take())
        task.commit()
        time.sleep(min(task.idle(), 0.2))
    if not found:
        return None
    batch = Batch.concat(found)
    return batch.select(range(min(limit, len(batch))))
