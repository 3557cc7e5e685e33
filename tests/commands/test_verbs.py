"""Commands that change what connectors do."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.model.tasks import TaskId
from penstock.http.client import Client
from support.rest.cluster import RestCluster

CONFIG = {"connector.class": "FileStreamSource", "topic": "t", "file": "f"}


@pytest.fixture
def connectors(url: str) -> None:
    """``a`` and ``b``."""
    with Client(url) as worker:
        worker.create("a", CONFIG)
        worker.create("b", CONFIG)


@pytest.mark.usefixtures("connectors")
@pytest.mark.parametrize(
    ("verb", "said", "state"),
    [("pause", "Paused", "PAUSED"), ("stop", "Stopped", "STOPPED"), ("resume", "Resumed", "RUNNING")],
)
def test_target_states(penstock: Any, url: str, verb: str, said: str, state: str) -> None:
    told = penstock(verb, "a", "b")
    assert (told.exit_code, told.stdout) == (0, f"{said} connector a.\n{said} connector b.\n")
    with Client(url) as worker:
        assert [worker.status(name)["connector"]["state"] for name in ("a", "b")] == [state, state]


@pytest.mark.usefixtures("connectors")
def test_delete(penstock: Any, url: str) -> None:
    assert penstock("delete", "a").stdout == "Deleted connector a.\n"
    with Client(url) as worker:
        assert worker.connectors() == ["b"]


@pytest.mark.usefixtures("connectors")
def test_the_others_follow_one_that_does_not_exist(penstock: Any) -> None:
    said = penstock("pause", "a", "nobody", "b")
    assert said.exit_code == 3
    assert said.stdout == "Paused connector a.\nPaused connector b.\n"
    assert said.stderr == "penstock: Unknown connector nobody\n"


@pytest.mark.usefixtures("connectors")
def test_restart(penstock: Any, cluster: RestCluster) -> None:
    assert penstock("restart", "a").stdout == "Restarted connector a.\n"
    assert (
        penstock("restart", "a", "--only-failed").stdout
        == "Nothing of connector a has failed, so nothing is restarted.\n"
    )
    assert penstock("restart", "a", "--include-tasks").stdout == "Restarting connector a and its task 0.\n"
    assert penstock("restart", "a", "--task", "0").stdout == "Restarted task 0 of connector a.\n"
    cluster.fail(TaskId("a", 0), "the disk is full")
    assert penstock("restart", "a", "b", "--include-tasks", "--only-failed").stdout == (
        "Restarting task 0 of connector a.\nNothing of connector b has failed, so nothing is restarted.\n"
    )


@pytest.mark.usefixtures("connectors")
def test_restart_of_what_is_not_there(penstock: Any) -> None:
    unknown = penstock("restart", "a", "--task", "7")
    assert (unknown.exit_code, unknown.stderr) == (3, "penstock: Unknown task: a-7\n")
    assert penstock("restart", "nobody").exit_code == 3
    assert penstock("restart", "a", "--task", "0", "--only-failed").exit_code == 2


def test_no_worker(penstock: Any) -> None:
    said = penstock("pause", "a", "b", "--url", "http://127.0.0.1:1")
    assert said.exit_code == 4
    assert said.stderr == "penstock: No worker can be reached at http://127.0.0.1:1: [Errno 111] Connection refused.\n"


def test_a_wrong_command_line(penstock: Any) -> None:
    assert penstock("pause").exit_code == 2
    assert penstock("status", "-o", "yaml").exit_code == 2
