"""The end of a query: errors that may come from the end of Spark's Java, which is then asked for, and a worker that is
not reached.
"""

from __future__ import annotations

import socket
import threading

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from penstock.api.errors import ConnectError
from penstock.spark.messages.task import TaskIdentity, TaskSubmission
from penstock.spark.query.host import Queries, _may_be_lost


def caused_by(cause: Exception) -> Exception:
    error = ConnectError("A batch could not be written")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        Py4JNetworkError("Answer from Java side is empty"),
        # What Py4J raises when the connection breaks while it waits for an answer.
        Py4JError("An error occurred while calling o1.isActive"),
        ConnectionResetError(104, "Connection reset by peer"),
        EOFError(),
        RuntimeError("Job 3 cancelled because SparkContext was shut down"),
        RuntimeError("Cannot call methods on a stopped SparkContext."),
    ],
    ids=repr,
)
def test_errors_of_broken_connections_may_come_from_the_end_of_java(error: Exception) -> None:
    assert _may_be_lost(error)
    assert _may_be_lost(caused_by(error))


@pytest.mark.parametrize(
    "error",
    [
        ConnectError("no such table"),
        ValueError("a"),
        RuntimeError("at org.apache.spark.SparkContext.runJob(SparkContext.scala)"),
    ],
    ids=repr,
)
def test_errors_of_the_query_do_not_come_from_the_end_of_java(error: Exception) -> None:
    assert not _may_be_lost(error)


def test_a_worker_that_hangs_up_before_the_admission_ends_the_job() -> None:
    """The process may have been frozen, or busy, for longer than the other side waits."""
    with socket.create_server(("127.0.0.1", 0)) as worker:
        threading.Thread(target=lambda: worker.accept()[0].close(), daemon=True).start()
        submission = TaskSubmission(worker.getsockname(), "0" * 64, "ab" * 32, TaskIdentity("c", 0, 1))
        answer = Queries.run(object.__new__(Queries), "c-0/1", submission)
    assert answer is not None
    assert answer.startswith("It was not admitted: Connection")
