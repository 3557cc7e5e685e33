"""Every metric has a meaning, by which it is in the reference."""

from __future__ import annotations

import re
from pathlib import Path

import penstock
from penstock.kafka.statistics import Statistics
from penstock.pipeline import metrics
from penstock.pipeline.sink import task as sink
from penstock.pipeline.source import task as source
from penstock.worker.monitoring.mbean_values import Value, client_values, task_values, type_of
from penstock.worker.monitoring.prometheus_text import MEANINGS, PrometheusText, described, full_name

CALL = re.compile(r'metrics\.(add|put|observe)\(\s*"([a-z-]+)"(?:.*"(-time-ms)")?')


def counted() -> set[str]:
    """Return the names of metrics that the code of loops and queries counts, found in its calls."""
    found: set[str] = set()
    for folder in ("pipeline", "spark"):
        for file in (Path(penstock.__file__).parent / folder).rglob("*.py"):
            for how, name, unit in CALL.findall(file.read_text("utf-8")):
                found |= {f"{name}-max{unit}", f"{name}-avg{unit}"} if how == "observe" else {name}
                found |= {f"{name}-min{unit}"} & {f"{each}-min" for each in metrics.MINIMA}
    return found


def test_counters_of_tasks_are_described() -> None:
    names = counted()
    assert {"source-record-poll-total", "put-batch-max-time-ms", "penstock-retrying", "transaction-size-min"} <= names
    rates = {f"{name}-rate" for name in metrics.RATES if not name.startswith("penstock-stage-")}
    names |= {*metrics.ERRORS, *rates, *sink.TOTALS, *source.TOTALS}
    assert [name for name in names if name not in MEANINGS[type_of(name)]] == []


def test_reported_values_are_described() -> None:
    run = metrics.Metrics(lambda values: None, sink.TOTALS)
    run.spent("put", 1.0)
    run.committed(0.1)
    run.survived(ValueError("x"))
    run.say("penstock-places", [{"direction": "to", "unit": "records", "position": 1, "behind": 2, "per_second": 3.0}])
    run.snapshot(1.0)
    values = list(task_values((), run.snapshot(2.0)))
    assert len(values) > 20
    assert [value[:2] for value in values if value.name not in MEANINGS[value.type]] == []


def test_values_of_clients_are_described() -> None:
    partition = {"txmsgs": 1, "txbytes": 2, "rxmsgs": 3, "rxbytes": 4}
    found = {"topics": {"t": {"partitions": {"0": partition}}}}
    kinds = ("admin-client", "consumer", "producer")
    lag = [{"topic": "t", "partition": 0, "records-lag": 1}]
    clients = [{**Statistics(kind, "c", found).described(), "partitions": lag} for kind in kinds[:2]]
    values = list(client_values([*clients, Statistics("producer", "p", found).described()]))
    assert {value.type.split("-")[0] for value in values} == {"admin", "consumer", "producer"}
    assert [value[:2] for value in values if value.name not in MEANINGS[value.type]] == []


def test_meanings_are_the_help_of_prometheus() -> None:
    values = [Value(type, name, (("clientid", "c"),), 1.0) for type, name, _ in described()]
    text = PrometheusText(lambda: values).render().decode()
    assert "# HELP kafka_connect_source_task_source_record_poll_total Records polled\n" in text
    assert len({full_name(type, name) for type, name, _ in described()}) == len(values)
    assert all(not text.endswith(".") for _, _, text in described())
