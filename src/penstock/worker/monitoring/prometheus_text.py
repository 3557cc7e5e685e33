"""``GET /metrics``: the worker's figures as Prometheus reads them, named as the rules of Prometheus' JMX exporter that
Kafka Connect is commonly run with (Strimzi's) name Java's MBeans, so that dashboards and alerts for those work here.

``kafka.connect:type=source-task-metrics,connector=c,task=0``'s ``source-record-poll-total`` is
``kafka_connect_source_task_source_record_poll_total{connector="c",task="0"}``. A value that is a text becomes a label
of the value 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from penstock.pipeline.telemetry.plugin_metrics import plain
from penstock.worker.monitoring.mbean_values import Value


class PrometheusText(Collector):
    """``values`` gives all metrics; it is called for every scrape."""

    def __init__(self, values: Callable[[], Iterable[Value]]) -> None:
        self._values = values
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)

    def render(self) -> bytes:
        """The text format, version 0.0.4. May be called from any thread."""
        return generate_latest(self._registry)

    def families(self) -> Iterable[Metric]:
        """All that ``render`` writes. May be called from any thread."""
        return self._registry.collect()

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        for type, name, labels, value in self._values():
            whole = full_name(type, name)
            family = families.get(whole)
            if family is None:
                about = _about(type, name)
                family = families[whole] = Metric(whole.removesuffix("_total"), about, kind_of(whole))
            if isinstance(value, str):
                family.add_sample(whole, {**dict(labels), name.replace("-", "_"): value}, 1)
            else:
                family.add_sample(whole, dict(labels), value)
        yield from families.values()


def kind_of(name: str) -> str:
    """Return the kind of a metric by its full name in Prometheus."""
    return "counter" if name.endswith("_total") else "gauge"


CLIENTS = ("admin-client", "consumer", "producer")


@lru_cache(maxsize=4096)
def full_name(type: str, name: str) -> str:
    """The rules drop ``-metrics``, and the ``connect-`` of the worker's own types; those of clients name them."""
    group = type.removesuffix("-metrics").removeprefix("connect-")
    if group == "mbean":
        return name
    if group == "jvm":
        return plain(f"jvm_{name}")
    return plain(f"kafka_{'' if group.startswith(CLIENTS) else 'connect_'}{group}_{name}")


def _about(type: str, name: str) -> str:
    if (known := meaning(type, name)) is not None:
        return known
    return f"{name} of a plugin's MBeans" if type == "mbean" else f"{name} of a plugin"


STATES = {
    "running": "are running",
    "paused": "are paused",
    "failed": "have failed",
    "unassigned": "are not running at the moment",
    "destroyed": "are being removed",
    "restarting": "are being restarted",
}
"""States in which the tasks of a connector are counted."""


def _startups(kind: str) -> dict[str, str]:
    starts = f"Starts of a {kind} on this worker since it started"
    return {
        f"{kind}-startup-attempts-total": starts,
        f"{kind}-startup-success-total": f"{starts}, that succeeded",
        f"{kind}-startup-failure-total": f"{starts}, that failed",
        f"{kind}-startup-success-percentage": f"{starts}: the part that succeeded, from 0 to 1",
        f"{kind}-startup-failure-percentage": f"{starts}: the part that failed, from 0 to 1",
    }


def _restarts(kind: str) -> dict[str, str]:
    return {
        "penstock-policy-restarts": f"How often in a row the restart policy has restarted the {kind}",
        "penstock-next-restart-timestamp": (
            f"When the restart policy restarts the {kind}, in milliseconds since 1970; 0: it does not"
        ),
    }


_CLIENT = {
    "connection-count": "Connections to brokers that are open",
    "connection-creation-total": "Connections to brokers that have been opened",
    "outgoing-byte-total": "Bytes sent to brokers",
    "incoming-byte-total": "Bytes received from brokers",
    "request-total": "Requests sent to brokers",
    "response-total": "Responses received from brokers",
}

MEANINGS: Mapping[str, Mapping[str, str]] = {
    "connect-worker-metrics": {
        "connector-count": "Connectors that this worker runs",
        "task-count": "Tasks that this worker runs",
        **_startups("connector"),
        **_startups("task"),
        "connector-total-task-count": "Tasks of the connector on this worker",
        **{
            f"connector-{state}-task-count": f"Tasks of the connector on this worker that {what}"
            for state, what in STATES.items()
        },
    },
    "connect-worker-rebalance-metrics": {
        "connect-protocol": "The group protocol in use, as a label: EAGER, COMPATIBLE or SESSIONED",
        "leader-name": "The URL of the group's leader, as a label",
        "epoch": "The generation of the group",
        "completed-rebalances-total": "Rebalances that this worker has completed",
        "rebalancing": "1 while this worker rebalances, else 0",
        "rebalance-max-time-ms": "The longest rebalance, in milliseconds",
        "rebalance-avg-time-ms": "The average duration of rebalances, in milliseconds",
        "time-since-last-rebalance-ms": "Milliseconds since the last rebalance was completed",
    },
    "connect-coordinator-metrics": {
        "assigned-connectors": "Connectors that the group has assigned to this worker",
        "assigned-tasks": "Tasks that the group has assigned to this worker",
    },
    "connector-metrics": {
        "connector-class": "The connector's class, as a label",
        "connector-type": "source or sink, as a label",
        "connector-version": "The version of the connector's class, as a label",
        "status": "The state of the connector in lower case, as a label",
        "penstock-overall-status": "The most urgent state of the connector and its tasks in lower case, as a label",
        "penstock-failures-last-hour": (
            "How often the connector or a task of it, whichever most, has failed or was lost within the last hour"
        ),
        **_restarts("connector"),
    },
    "connector-task-metrics": {
        "status": "The state of the task in lower case, as a label",
        "running-ratio": "The share of the run's time in which the task was running, from 0 to 1",
        "pause-ratio": "The share of the run's time in which the task was paused, from 0 to 1",
        "batch-size-max": "The maximum number of records of a batch",
        "batch-size-avg": "The average number of records of a batch",
        "offset-commit-max-time-ms": "The longest offset commit, in milliseconds",
        "offset-commit-avg-time-ms": "The average duration of offset commits, in milliseconds",
        "offset-commit-success-percentage": "The share of offset commits that succeeded, from 0 to 1",
        "offset-commit-failure-percentage": "The share of offset commits that failed, from 0 to 1",
        **_restarts("task"),
        "penstock-stalled": "1 while the task waits too long for its plugin (penstock.task.stalled.after.ms), else 0",
        "penstock-retrying": "1 while the task tries again after an error that passes, else 0",
        "penstock-records-behind": "Records between the task's position and the ends of what it reads",
        "penstock-seconds-behind": "Sinks: the age of the record at the task's position; sources: what they report",
        "penstock-newest-record-timestamp": "Sources: the timestamp of the newest record, in milliseconds since 1970",
        "penstock-last-error-timestamp": "The last error that did not end the task, in milliseconds since 1970",
        "penstock-log-lines-dropped-total": "Log lines of the task that were dropped, since they were too many",
        "penstock-gaps-total": "Sinks that are queries: gaps in what they read, of records deleted before that",
        "penstock-gap-offsets-total": "Sinks that are queries: offsets in these gaps",
        "penstock-stage-seconds-total": "Seconds spent in the stage that the label names",
        "penstock-place-position": "The task's position in a partition or another part of what it reads",
        "penstock-place-behind": "The distance from that position to the end of that part, in the label's unit",
        "penstock-place-rate": "The amount of that part read or written in a second, in the label's unit",
        "penstock-place-records-total": "Records of this run to that partition",
    },
    "source-task-metrics": {
        "source-record-poll-total": "Records polled",
        "source-record-poll-rate": "Records polled in a second",
        "source-record-write-total": "Records written to Kafka",
        "source-record-write-rate": "Records written to Kafka in a second",
        "source-record-active-count": "Records that Kafka has not acknowledged yet",
        "source-record-active-count-max": "The maximum number of records polled and not acknowledged by Kafka yet",
        "source-record-active-count-avg": "The average number of those before each batch and with it",
        "poll-batch-max-time-ms": "The longest poll, in milliseconds",
        "poll-batch-avg-time-ms": "The average duration of polls, in milliseconds",
        "transaction-size-min": "The minimum number of records of a transaction",
        "transaction-size-max": "The maximum number of records of a transaction",
        "transaction-size-avg": "The average number of records of a transaction",
    },
    "sink-task-metrics": {
        "sink-record-read-total": "Records read from Kafka",
        "sink-record-read-rate": "Records read from Kafka in a second",
        "sink-record-send-total": "Records passed to put, that is, without those that transforms have dropped",
        "sink-record-send-rate": "Records passed to put in a second",
        "sink-record-active-count": "Records passed to put whose offsets are not committed yet",
        "sink-record-active-count-max": "The maximum number of records passed to put and not committed yet",
        "sink-record-active-count-avg": "The average number of those, after each put and each commit",
        "partition-count": "Partitions assigned to the task",
        "offset-commit-seq-no": "The number of the last offset commit",
        "offset-commit-completion-total": "Offset commits that succeeded",
        "offset-commit-completion-rate": "Offset commits that succeeded, in a second",
        "offset-commit-skip-total": "Offset commits that were skipped because they were too late",
        "offset-commit-skip-rate": "Offset commits that were skipped because they were too late, in a second",
        "put-batch-max-time-ms": "The longest put, in milliseconds",
        "put-batch-avg-time-ms": "The average duration of put, in milliseconds",
    },
    "task-error-metrics": {
        "total-record-failures": "Attempts at a record that failed",
        "total-record-errors": "Records that failed permanently, without tolerated ones that the task itself reports",
        "total-records-skipped": "Records skipped because of an error",
        "total-retries": "Attempts that were repeated",
        "total-errors-logged": "Errors logged, see errors.log.enable",
        "deadletterqueue-produce-requests": "Records sent to the dead letter queue",
        "deadletterqueue-produce-failures": "Records that could not be written to the dead letter queue",
        "last-error-timestamp": "The last error of a record, in milliseconds since 1970",
    },
    "connect-spark-metrics": {
        "penstock-running": "1 while the Spark application runs, else 0; there is none before it is first started",
        "penstock-ended-total": "How often the Spark application has ended though it should run",
    },
    "jvm": {
        "threads-current": "Threads of the Java of the Spark application",
        "memory-used-bytes": "Memory used by the Java of the Spark application: the label area is heap or nonheap",
        "memory-bytes-used": "The same as jvm_memory_used_bytes, by its older name",
        "gc-collection-seconds-count": "Garbage collections of the Java of the Spark application, by collector",
        "gc-collection-seconds-sum": "Seconds of garbage collection of the Java of the Spark application, by collector",
    },
    "admin-client-metrics": _CLIENT,
    "consumer-metrics": _CLIENT,
    "producer-metrics": _CLIENT,
    "consumer-fetch-manager-metrics": {
        "records-consumed-total": "Records consumed from the topic",
        "bytes-consumed-total": "Bytes consumed from the topic",
        "records-lag": "Records between the consumer's position in the partition and its end",
    },
    "producer-topic-metrics": {
        "record-send-total": "Records sent to the topic",
        "byte-total": "Bytes sent to the topic",
    },
}


def meaning(type: str, name: str) -> str | None:
    return MEANINGS.get(type, {}).get(name)


def described() -> Iterator[tuple[str, str, str]]:
    """Type, name and meaning of all."""
    for type, names in MEANINGS.items():
        for name, text in names.items():
            yield type, name, text
