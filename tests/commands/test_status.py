"""``penstock status``."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import IO, Any

import pytest

from commands.conftest import CONFIG
from penstock.core.model.records import TaskStatus
from penstock.core.model.tasks import TaskId
from penstock.http.client import Client
from support.rest.cluster import RestCluster


@pytest.mark.usefixtures("source", "sink")
def test_the_status_of_all(penstock: Any, cluster: RestCluster, worker: Client) -> None:
    cluster.fail(TaskId("orders", 0), "the disk is full")
    (since,) = {row["since"] for row in worker.attention()["rows"]}
    assert penstock("status").stdout.splitlines() == [
        "What needs attention:",
        "PROBLEM  CONNECTOR  TASKS  SINCE                 WHY               NEXT STEP",
        f"failed   orders     0      {since}  the disk is full  penstock restart orders --include-tasks --only-failed",
        "",
        "NAME       TYPE    STATE    WORKER  TASKS      BEHIND",
        "orders     source  FAILED   one     1 failed",
        "lines out  sink    RUNNING  one     1 running",
    ]
    for chosen in (("ord*",), ("--state", "failed"), ("orders", "--state", "FAILED")):
        assert penstock("status", *chosen).stdout.splitlines() == [
            "NAME    TYPE    STATE   WORKER  TASKS     BEHIND",
            "orders  source  FAILED  one     1 failed",
        ]
    assert list(json.loads(penstock("status", "--state", "failed", "-o", "json").stdout)) == ["orders"]
    cluster.workers["one"].herder.statuses.replay(TaskStatus(TaskId("orders", 0), "SLEEPING", "one"))
    assert "orders     source  UNKNOWN  one     1 sleeping" in penstock("status").stdout.splitlines()
    nobody = penstock("status", "-l", "team=x")
    assert (nobody.exit_code, nobody.stdout, nobody.stderr) == (0, "", "penstock: No connector matches that.\n")


def test_stalled_and_retrying_connectors_come_before_healthy_ones(
    penstock: Any, cluster: RestCluster, worker: Client
) -> None:
    for name in ("a", "b", "stuck"):
        worker.create(name, {**CONFIG, "penstock.labels.team": "x"})
    cluster.stall(TaskId("stuck", 0), "poll has not returned")
    cluster.figures["one"] = {0: {"records_behind": 70, "seconds_behind": 1.5, "retrying": False}}
    rows = [line.split(maxsplit=4) for line in penstock("status", "-l", "team=x").stdout.splitlines()]
    assert [(row[0], row[4].split()) for row in rows[1:]] == [
        ("stuck", ["1", "stalled", "70"]),
        ("a", ["1", "running", "70"]),
        ("b", ["1", "running", "70"]),
    ]
    cluster.figures["one"] = {0: {"records_behind": None, "seconds_behind": 1.5, "retrying": True}}
    assert "1 retrying, 1 running  2 s" in penstock("status").stdout.split("NAME", 1)[1].splitlines()[1]


@pytest.mark.usefixtures("source")
def test_the_status_of_one(penstock: Any, cluster: RestCluster, worker: Client) -> None:
    cluster.fail(TaskId("orders", 0), "the disk is full\n\tat line 1\n")
    assert penstock("status", "orders").stdout.splitlines() == [
        "Connector orders (source) is RUNNING on one.",
        "TASK  STATE   WORKER  TRACE",
        "0     FAILED  one     the disk is full",
    ]
    assert json.loads(penstock("status", "orders", "-o", "json").stdout) == worker.status("orders", penstock=True)
    worker.stop("orders")
    assert penstock("status", "orders").stdout.splitlines() == [
        "Connector orders (source) is STOPPED on one.",
        "It has no tasks.",
    ]


def test_the_health_of_a_connectors_tasks(penstock: Any, cluster: RestCluster, worker: Client) -> None:
    worker.create("lines", {"connector.class": "FileStreamSource", "topic": "t", "file": "f"})
    assert "RECORDS" not in penstock("status", "lines").stdout
    unknown = dict.fromkeys(("records_behind", "seconds_behind"))
    error = {"time": "2023-11-14T22:13:20.000+00:00", "message": "not now"}
    cluster.figures["one"] = {0: {"records": 7, **unknown, "retrying": True, "last_error": error, "restarts": 2}}
    lines = [line.split() for line in penstock("status", "lines").stdout.splitlines()]
    assert lines[-1] == ["0", "7", "2", "2023-11-14T22:13:20Z", "retrying:", "not", "now"]


def test_lag_rates_stages_and_what_is_furthest_behind(penstock: Any, cluster: RestCluster, worker: Client) -> None:
    worker.create("lines", {"connector.class": "FileStreamSource", "topic": "t", "file": "f"})
    place = {"direction": "from", "topic": "t", "partition": 3, "unit": "records"}
    cluster.figures["one"] = {
        0: {
            "records": 7,
            "records_per_second": 2.25,
            "records_behind": 40,
            "seconds_behind": 1.5,
            "newest_record_age_seconds": None,
            "last_error": None,
            "restarts": 0,
            "stages": {"poll": 0.125, "put": 0.5},
            "slowest_stage": "put",
            "places": [
                {**place, "position": 60, "end": 100, "behind": 40, "per_second": 1.25},
                {**place, "partition": 1, "position": 9, "end": 9, "behind": 0, "per_second": 0.0},
                {"direction": "to", "topic": "u", "partition": 0, "records": 7, "end": None, "behind": None},
            ],
        }
    }
    assert penstock("status", "lines").stdout.splitlines()[4:] == [
        "TASK  RECORDS  PER SECOND  BEHIND  SECONDS BEHIND  NEWEST RECORD'S AGE  RESTARTS  LAST ERROR",
        "0     7        2.2         40      1.5                                  0",
        "",
        "TASK  POLL   PUT    SLOWEST",
        "0     12.5%  50.0%  put",
        "",
        "TASK  FURTHEST BEHIND  POSITION  END  BEHIND  PER SECOND  UNIT",
        "0     t-3 (of 2)       60        100  40      1.2         records",
    ]


def test_restarts_by_the_restart_policy_are_shown(penstock: Any, cluster: RestCluster, worker: Client) -> None:
    policy = {"penstock.restart.policy": "on-failure"}
    worker.create("lines", {"connector.class": "FileStreamSource", "topic": "t", "file": "f", **policy})
    assert "Restart policy" not in penstock("status", "lines").stdout
    for _ in range(2):
        cluster.pass_time(1000)
        cluster.fail(TaskId("lines", 0), "Exception: broken\n\tat here")
    assert penstock("status", "lines").stdout.splitlines()[-1] == (
        "Restart policy: task 0 was restarted 1 times in a row; the next follows at 1970-01-01T00:02:02Z "
        "(Exception: broken)."
    )


@pytest.mark.usefixtures("source")
def test_the_status_is_watched_until_ctrl_c(cluster: RestCluster, url: str) -> None:
    command = [sys.executable, "-m", "penstock", "status", "--watch", "--url", url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        until_line(watching.stdout, "1 running")
        cluster.fail(TaskId("orders", 0), "the disk is full")
        until_line(watching.stdout, "the disk is full")
        until_line(watching.stdout, "1 failed")
        watching.send_signal(signal.SIGINT)
        watching.wait(timeout=900)  # before its output is closed
    assert watching.returncode == 130


def until_line(lines: IO[str], part: str) -> None:
    assert any(part in line for line in lines)


def test_documents_are_not_watched(penstock: Any) -> None:
    refused = penstock("status", "--watch", "-o", "json")
    assert refused.exit_code == 2
    assert "--watch shows tables" in refused.stderr
