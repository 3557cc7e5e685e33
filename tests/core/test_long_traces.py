"""A failure is known as one also if its message is longer than a record may be: as of a row with all its values."""

from __future__ import annotations

from penstock.core.model import messages as m
from penstock.core.model.tasks import TaskId
from penstock.kafka.storage.status_records import encode
from simulation.cluster import Cluster

MESSAGE = "\x01\u1234" * 1_000_000


def test_a_long_trace_fits_into_a_record_of_the_status_topic() -> None:
    cluster, task = Cluster([].append, lambda channels: 0), TaskId("c", 0)
    cluster.start("a")
    cluster.send("a", m.PutConfig("c", {"connector.class": "Source", "tasks.max": "1"}))
    cluster.settle()
    cluster.fail(task, f"ValueError: {MESSAGE}\n")
    cluster.settle()
    status = cluster.workers["a"].herder.statuses.task(task)
    assert status is not None
    assert status.state == "FAILED"
    assert status.trace is not None
    assert status.trace.startswith("ValueError: \x01\u1234")
    assert status.trace.endswith("... (1900013 more characters are in the log of the worker)\n")
    assert len(encode(status)[1] or b"") < 1_000_000
