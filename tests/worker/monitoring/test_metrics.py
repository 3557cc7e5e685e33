"""Metrics of a worker, with real herders; tests control the clock."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock.core.group.membership import Joined, Revoked
from penstock.core.herder import Herder
from penstock.core.model import messages as m
from penstock.core.model.actions import Action
from penstock.core.model.events import ConnectorFailed, Event, Report
from penstock.core.model.records import TaskStatus
from penstock.core.model.tasks import SparkDied, SparkFigures, SparkReady, TaskFailed, TaskId, TaskMetrics
from penstock.worker.monitoring.metrics import WorkerMetrics
from penstock.worker.monitoring.prometheus_text import PrometheusText
from simulation.cluster import Cluster

T0, T1 = TaskId("orders", 0), TaskId("orders", 1)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Measured:
    """A herder whose metrics see every event first, and that gets no reports, as in the worker's loop."""

    def __init__(self, herder: Herder, clock: Clock) -> None:
        self._herder = herder
        self.metrics = WorkerMetrics(herder, lambda config: f"a.{config['connector.class']}", clock)

    def handle(self, event: Event | Report, now: int) -> list[Action]:
        self.metrics.observe(event)
        return [] if isinstance(event, Report) else self._herder.handle(event, now)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._herder, name)


class MeasuredCluster(Cluster):
    """A cluster of one worker, measured since it joined."""

    def __init__(self, clock: Clock, **settings: Any) -> None:
        super().__init__(lambda line: None, **settings)
        self.start("one")
        self.herder: Any = Measured(self.workers["one"].herder, clock)
        self.workers["one"].herder = self.herder

    def tell(self, event: Event | Report) -> None:
        self.herder.handle(event, self.now)


class Samples:
    """Samples that Prometheus scrapes: ``name{label="value"}`` to number."""

    def __init__(self, text: bytes) -> None:
        self.text = text.decode()
        self.types: dict[str, str] = {}
        self._values: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
        for family in text_string_to_metric_families(self.text):
            for sample in family.samples:
                self.types[sample.name] = family.type
                self._values[sample.name, tuple(sorted(sample.labels.items()))] = sample.value

    def __call__(self, name: str, **labels: str) -> float | None:
        return self._values.get((f"kafka_connect_{name}", tuple(sorted(labels.items()))))

    def of_task(self, name: str, task: TaskId = T0) -> float | None:
        return self(name, connector=task.connector, task=str(task.task))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cluster(clock: Clock) -> MeasuredCluster:
    return MeasuredCluster(clock)


def create(cluster: Cluster, name: str = "orders", tasks: int = 2) -> None:
    cluster.ask("one", m.CreateConnector(name, {"connector.class": "Source", "name": name, "tasks.max": str(tasks)}))


def samples(cluster: MeasuredCluster) -> Samples:
    return Samples(PrometheusText(cluster.herder.metrics.values).render())


def test_connectors_and_tasks_are_counted(cluster: MeasuredCluster) -> None:
    assert (samples(cluster)("worker_connector_count"), samples(cluster)("worker_task_count")) == (0, 0)
    create(cluster)
    seen = samples(cluster)
    assert (seen("worker_connector_count"), seen("worker_task_count")) == (1, 2)
    assert seen("worker_connector_total_task_count", connector="orders") == 2
    assert seen("worker_connector_running_task_count", connector="orders") == 2
    cluster.ask("one", m.DeleteConnector("orders"))
    seen = samples(cluster)
    assert (seen("worker_connector_count"), seen("worker_task_count")) == (0, 0)
    assert seen("worker_connector_total_task_count", connector="orders") is None


def test_the_applications_of_spark(cluster: MeasuredCluster) -> None:
    def seen(name: str) -> list[float | None]:
        return [samples(cluster)(name, application=application) for application in ("hosted", "queries")]

    assert seen("spark_penstock_running") == [None, None]
    cluster.tell(SparkReady(4))
    assert seen("spark_penstock_running") == [1, None]
    cluster.tell(SparkReady(4, queries=True))
    cluster.tell(SparkDied("it was killed", queries=True))
    assert seen("spark_penstock_running") == [1, 0]
    assert seen("spark_penstock_ended_total") == [0, 1]
    cluster.tell(SparkReady(4, queries=True))
    assert seen("spark_penstock_running") == [1, 1]


def test_the_states_of_connectors_and_tasks(cluster: MeasuredCluster) -> None:
    create(cluster)
    cluster.fail(T1, "the disk is full")
    seen = samples(cluster)
    assert seen("connector_status", connector="orders", status="running") == 1
    assert seen("connector_connector_class", connector="orders", connector_class="a.Source") == 1
    assert seen("connector_connector_type", connector="orders", connector_type="source") == 1
    assert seen("connector_task_status", connector="orders", task="0", status="running") == 1
    assert seen("connector_task_status", connector="orders", task="1", status="failed") == 1
    assert seen("worker_connector_failed_task_count", connector="orders") == 1
    assert seen("worker_connector_running_task_count", connector="orders") == 1
    assert seen("worker_task_count") == 2
    assert seen("connector_penstock_overall_status", connector="orders", penstock_overall_status="failed") == 1
    cluster.ask("one", m.SetTargetState("orders", "PAUSED"))
    seen = samples(cluster)
    assert seen("connector_status", connector="orders", status="paused") == 1
    assert seen("worker_connector_paused_task_count", connector="orders") == 1


def test_the_overall_state_is_unknown_where_no_version_knows_it(cluster: MeasuredCluster) -> None:
    create(cluster)
    cluster.herder.statuses.replay(TaskStatus(T0, "SLEEPING", "one"))
    seen = samples(cluster)
    assert seen("connector_penstock_overall_status", connector="orders", penstock_overall_status="unknown") == 1


def test_failures_within_an_hour_are_counted_where_there_is_a_history(cluster: MeasuredCluster) -> None:
    create(cluster)
    assert samples(cluster)("connector_penstock_failures_last_hour", connector="orders") is None
    for failures, shown in (({}, 0), ({"orders": 3, "gone": 1}, 3)):
        metrics = WorkerMetrics(cluster.workers["one"].herder._herder, str, failures=lambda found=failures: found)
        cluster.herder.metrics = metrics
        assert samples(cluster)("connector_penstock_failures_last_hour", connector="orders") == shown
        assert samples(cluster)("connector_penstock_failures_last_hour", connector="gone") is None


def test_restarting_tasks_are_counted(cluster: MeasuredCluster) -> None:
    create(cluster)
    cluster.herder.statuses.replay(TaskStatus(T0, "RESTARTING", "one"))
    seen = samples(cluster)
    assert seen("worker_connector_restarting_task_count", connector="orders") == 1
    assert seen("worker_connector_running_task_count", connector="orders") == 1
    assert seen("connector_task_status", connector="orders", task="0", status="restarting") == 1


def test_restarts_of_the_policy_are_counted(clock: Clock) -> None:
    cluster = MeasuredCluster(clock, restart_policy="on-failure")
    cluster.ask("one", m.CreateConnector("orders", {"connector.class": "Source", "tasks.max": "2"}))
    for _ in range(2):
        cluster.pass_time(1000)
        cluster.fail(T1, "broken")
    shown = samples(cluster)
    assert shown("connector_penstock_policy_restarts", connector="orders") == 0
    assert shown.of_task("connector_task_penstock_policy_restarts", T1) == 1
    assert shown.of_task("connector_task_penstock_next_restart_timestamp", T1) == 122_000


def test_startups(cluster: MeasuredCluster) -> None:
    create(cluster)
    cluster.fail(T0, "after it had started")
    cluster.ask("one", m.RestartConnector("orders", include_tasks=True, only_failed=True))
    seen = samples(cluster)
    assert (seen("worker_connector_startup_attempts_total"), seen("worker_task_startup_attempts_total")) == (1, 3)
    assert (seen("worker_task_startup_success_total"), seen("worker_task_startup_failure_total")) == (3, 0)
    assert seen("worker_task_startup_success_percentage") == 1
    assert seen.types["kafka_connect_worker_task_startup_success_total"] == "counter"
    assert seen.types["kafka_connect_worker_task_count"] == "gauge"


def test_a_failure_before_the_start_counts_as_a_failed_startup(cluster: MeasuredCluster) -> None:
    create(cluster)
    runs = cluster.herder.work
    cluster.tell(ConnectorFailed("orders", runs.connectors["orders"].run + 1, "no start"))
    for run in (runs.tasks[T0].run + 1, runs.tasks[T0].run + 2):
        cluster.tell(TaskFailed(T0, run, "no start"))
        cluster.tell(TaskFailed(T0, run, "the same again"))
    seen = samples(cluster)
    assert (seen("worker_connector_startup_attempts_total"), seen("worker_task_startup_attempts_total")) == (2, 4)
    assert (seen("worker_connector_startup_success_total"), seen("worker_connector_startup_failure_total")) == (1, 1)
    assert (seen("worker_task_startup_success_total"), seen("worker_task_startup_failure_total")) == (2, 2)
    assert seen("worker_task_startup_failure_percentage") == 0.5


def test_reported_values_become_metrics(cluster: MeasuredCluster) -> None:
    create(cluster)
    run = cluster.herder.work.tasks[T0].run
    values = {
        "source-record-poll-total": 500.0,
        "source-record-poll-rate": 12.5,
        "poll-batch-max-time-ms": 7.0,
        "offset-commit-max-time-ms": 3.0,
        "batch-size-max": 30.0,
        "total-record-errors": 2.0,
    }
    cluster.tell(TaskMetrics(T0, run, values))
    cluster.tell(TaskMetrics(T0, run - 1, {"source-record-poll-total": 1.0}))  # a late report of an earlier run
    seen = samples(cluster)
    assert seen.of_task("source_task_source_record_poll_total") == 500
    assert seen.of_task("source_task_source_record_poll_rate") == 12.5
    assert seen.of_task("source_task_poll_batch_max_time_ms") == 7
    assert seen.of_task("connector_task_offset_commit_max_time_ms") == 3
    assert seen.of_task("connector_task_batch_size_max") == 30
    assert seen.of_task("task_error_total_record_errors") == 2
    assert seen.of_task("source_task_source_record_poll_total", T1) is None
    cluster.ask("one", m.RestartTask("orders", 0))
    seen = samples(cluster)
    assert seen.of_task("source_task_source_record_poll_total") is None
    assert seen.of_task("task_error_total_record_errors") is None


def test_nothing_is_left_of_a_task_that_was_deleted(cluster: MeasuredCluster) -> None:
    create(cluster)
    run = cluster.herder.work.tasks[T0].run
    cluster.tell(TaskMetrics(T0, run, {"source-record-poll-total": 5.0, "total-record-errors": 2.0}))
    assert 'connector="orders"' in samples(cluster).text
    cluster.ask("one", m.DeleteConnector("orders"))
    cluster.tell(TaskMetrics(T0, run, {"source-record-poll-total": 6.0, "total-record-errors": 3.0}))  # a late report
    assert 'connector="orders"' not in samples(cluster).text


def test_stages_places_clients_and_plugins_of_a_task(cluster: MeasuredCluster) -> None:
    create(cluster)
    place = {"direction": "from", "topic": "t", "partition": 3, "position": 40, "end": 50, "behind": 10}
    client = {"kind": "consumer", "client_id": "c-0", "values": {"connection-count": 2, "incoming-byte-total": 9}}
    lag = {"topic": "t", "partition": 3, "records-lag": 10}
    plugin = {"name": "rows.read-total", "description": "", "tags": {"connector": "orders", "my": "tag"}, "value": 4.0}
    values = {
        "penstock-stage-put-seconds-total": 3.5,
        "penstock-places": [{**place, "unit": "records", "per_second": None}],
        "penstock-clients": [{**client, "topics": {"t": {"records-consumed-total": 40}}, "partitions": [lag]}] * 2,
        "penstock-plugins": [plugin],
        "penstock-last-error": "a text",
    }
    cluster.tell(TaskMetrics(T0, cluster.herder.work.tasks[T0].run, values))
    seen = samples(cluster)
    where = {"connector": "orders", "task": "0", "direction": "from", "topic": "t", "partition": "3", "unit": "records"}
    assert seen("connector_task_penstock_stage_seconds_total", connector="orders", task="0", stage="put") == 3.5
    assert seen("connector_task_penstock_place_behind", **where) == 10
    assert seen("connector_task_penstock_place_position", **where) == 40
    assert seen("connector_task_penstock_place_rate", **where) is None
    assert seen("plugins_rows_read_total", connector="orders", my="tag") == 4
    lines = seen.text.splitlines()
    assert 'kafka_consumer_connection_count{clientid="c-0"} 4.0' in lines  # two of the same name count as one
    assert 'kafka_consumer_incoming_byte_total{clientid="c-0"} 18.0' in lines
    assert 'kafka_consumer_fetch_manager_records_consumed_total{clientid="c-0",topic="t"} 80.0' in lines
    assert 'kafka_consumer_fetch_manager_records_lag{clientid="c-0",partition="3",topic="t"} 20.0' in lines


def test_figures_of_java(cluster: MeasuredCluster) -> None:
    java = {"memory": {"heap": 5, "nonheap": 6}, "threads": 7, "collections": {"Copy": [2, 0.5]}}
    cluster.herder.metrics.observe(SparkFigures(java))
    lines = samples(cluster).text.splitlines()
    assert 'jvm_memory_used_bytes{application="hosted",area="heap"} 5.0' in lines
    assert 'jvm_memory_bytes_used{application="hosted",area="heap"} 5.0' in lines
    assert 'jvm_threads_current{application="hosted"} 7.0' in lines
    assert 'jvm_gc_collection_seconds_sum{application="hosted",gc="Copy"} 0.5' in lines
    cluster.herder.metrics.observe(SparkDied("gone"))
    assert "jvm_" not in samples(cluster).text


def test_figures_of_sinks(cluster: MeasuredCluster) -> None:
    cluster.ask("one", m.CreateConnector("lines", {"connector.class": "Sink", "name": "lines", "tasks.max": "1"}))
    id = TaskId("lines", 0)
    run = cluster.herder.work.tasks[id].run
    names = ("sink-record-read-total", "partition-count", "put-batch-avg-time-ms", "offset-commit-completion-total")
    cluster.tell(TaskMetrics(id, run, dict.fromkeys((*names, "offset-commit-seq-no"), 4.0)))
    seen = samples(cluster)
    for name in (*names, "offset-commit-seq-no"):
        assert seen.of_task(f"sink_task_{name.replace('-', '_')}", id) == 4, name


def test_running_and_pause_ratios_of_tasks(cluster: MeasuredCluster, clock: Clock) -> None:
    create(cluster)
    clock.now += 30
    cluster.ask("one", m.SetTargetState("orders", "PAUSED"))
    clock.now += 10
    seen = samples(cluster)
    assert seen.of_task("connector_task_running_ratio") == pytest.approx(0.75)
    assert seen.of_task("connector_task_pause_ratio") == pytest.approx(0.25)


def test_rebalances(cluster: MeasuredCluster, clock: Clock) -> None:
    create(cluster)
    seen = samples(cluster)
    completed = seen("worker_rebalance_completed_rebalances_total")
    assert completed
    assert seen("worker_rebalance_leader_name", leader_name="http://one") == 1
    assert seen("worker_rebalance_connect_protocol", connect_protocol="SESSIONED") == 1
    assert seen("worker_rebalance_rebalancing") == 0
    cluster.tell(Revoked("one", (), (), lambda: None))
    clock.now += 2
    assert samples(cluster)("worker_rebalance_rebalancing") == 1
    cluster.tell(Joined(9, "one", 2, cluster.herder.membership.assignment, True))
    clock.now += 5
    seen = samples(cluster)
    assert seen("worker_rebalance_completed_rebalances_total") == completed + 1
    assert seen("worker_rebalance_rebalance_max_time_ms") == pytest.approx(2000)
    assert seen("worker_rebalance_time_since_last_rebalance_ms") == pytest.approx(5000)
    assert seen("worker_rebalance_epoch") == 9
    assert seen("worker_rebalance_rebalancing") == 0


def test_a_standalone_worker_has_no_rebalances(clock: Clock) -> None:
    cluster = MeasuredCluster(clock, distributed=False)
    seen = samples(cluster)
    assert seen("worker_connector_count") == 0
    assert seen("worker_rebalance_completed_rebalances_total") is None


def test_names_of_connectors_may_hold_anything(cluster: MeasuredCluster) -> None:
    name = 'a "b"\\c\nd'
    create(cluster, name, 1)
    assert samples(cluster)("worker_connector_total_task_count", connector=name) == 1


def test_the_process_is_measured_as_well(cluster: MeasuredCluster) -> None:
    assert "process_resident_memory_bytes" in samples(cluster).types
