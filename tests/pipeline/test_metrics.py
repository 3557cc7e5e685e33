from __future__ import annotations

import threading
import time

from penstock.pipeline.metrics import Metrics


def test_counts_rates_and_figures_have_javas_names() -> None:
    metrics = Metrics(lambda values: None, ("source-record-poll-total",))
    metrics.snapshot(100.0)
    metrics.add("source-record-poll-total", 50)
    metrics.observe("batch-size", 10)
    metrics.observe("batch-size", 30)
    metrics.observe("poll-batch", 7, "-time-ms")
    metrics.observe("transaction-size", 5)
    metrics.observe("transaction-size", 3)
    metrics.committed(0.5)
    metrics.committed(0.1, success=False)
    values = metrics.snapshot(110.0)
    assert values["source-record-poll-total"] == 50
    assert values["source-record-poll-rate"] == 5
    assert (values["batch-size-max"], values["batch-size-avg"]) == (30, 20)
    assert values["poll-batch-max-time-ms"] == 7
    assert [values[f"transaction-size-{which}"] for which in ("min", "avg", "max")] == [3, 4, 5]
    assert values["offset-commit-max-time-ms"] == 500
    assert values["offset-commit-success-percentage"] == 0.5


def test_shares_of_the_stages_add_up_to_the_whole_time_at_most() -> None:
    metrics = Metrics(lambda values: None, ())
    metrics.snapshot(100.0)
    metrics.spent("put", 30.0)  # has begun before the window
    metrics.spent("poll", 10.0)
    values = metrics.snapshot(110.0)
    shares = {stage: values[f"penstock-stage-{stage}-seconds-rate"] for stage in ("put", "poll")}
    assert shares == {"put": 0.75, "poll": 0.25}
    metrics.spent("poll", 1.0)
    assert metrics.snapshot(140.0)["penstock-stage-poll-seconds-rate"] < 0.1


def test_reports_come_now_and_then() -> None:
    reports: list[dict[str, float]] = []
    metrics = Metrics(reports.append, ("sink-record-read-total",), every=5.0)
    now = time.monotonic()
    for seconds in range(12):
        metrics.tick(now + seconds)
    assert len(reports) == 2
    assert reports[0]["sink-record-read-total"] == 0


def test_two_threads_may_count_the_same_thing() -> None:
    metrics = Metrics(lambda values: None, ("n-total",))
    adding, other_done = threading.Event(), threading.Event()

    class Slow(float):
        """Is being added while another thread adds."""

        def __radd__(self, other: float) -> float:
            adding.set()
            other_done.wait(0.3)
            return other + 1.0

    slow = threading.Thread(target=lambda: metrics.add("n-total", Slow(1)))
    slow.start()
    assert adding.wait(60)
    metrics.add("n-total", 1)
    other_done.set()
    slow.join()
    assert metrics.snapshot(0.0)["n-total"] == 2
