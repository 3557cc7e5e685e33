"""``penstock bulk``: a preview, a question, progress and causes."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from penstock.core.model.tasks import TaskId
from penstock.http.client import Client
from support.rest.cluster import RestCluster

CONFIG = {"connector.class": "FileStreamSource", "topic": "t", "file": "f"}


@pytest.fixture(autouse=True)
def connectors(worker: Client) -> None:
    """Connectors ``a`` and ``b`` of a team, and ``c*``, whose name looks like a pattern."""
    for name, labels in (("a", {"penstock.labels.team": "x"}), ("b", {"penstock.labels.team": "x"}), ("c*", {})):
        worker.create(name, {**CONFIG, **labels})


def states(worker: Client) -> list[str]:
    return [worker.status(name)["connector"]["state"] for name in ("a", "b", "c*")]


def test_a_dry_run_changes_nothing(penstock: Any, worker: Client) -> None:
    worker.pause("b")
    said = penstock("bulk", "pause", "-l", "team=x", "--dry-run")
    assert said.exit_code == 0
    assert said.stdout.splitlines() == [
        "CONNECTOR  STATE    RESULT  WHAT",
        "a          RUNNING  change  Pauses it",
        "b          PAUSED   none    It is to be paused already",
    ]
    assert states(worker) == ["RUNNING", "PAUSED", "RUNNING"]


def test_a_pause_and_the_resume_of_it(penstock: Any, worker: Client) -> None:
    worker.pause("b")
    said = penstock("bulk", "pause", "a", "b", "c*", "--yes")
    assert said.exit_code == 0, said.output
    found = re.search(r"Bulk action ([0-9a-f]{12}): pause 2 connectors\.", said.stdout)
    assert found is not None
    assert {"a: done. Paused.", "c*: done. Paused."} <= set(said.stdout.splitlines())
    assert f"penstock bulk resume --of {found[1]}" in said.stdout
    assert states(worker) == ["PAUSED"] * 3
    shown = penstock("bulk", "show", found[1], "-o", "json")
    assert [row["result"] for row in json.loads(shown.stdout)["connectors"]] == ["done", "done"]
    assert penstock("bulk", "resume", "--of", found[1], input="y\n").exit_code == 0
    assert states(worker) == ["RUNNING", "PAUSED", "RUNNING"]


def test_only_connectors_of_the_preview_are_changed_after_the_answer_yes(penstock: Any, worker: Client) -> None:
    refused = penstock("bulk", "delete", "a", input="n\n")
    assert refused.exit_code == 1
    assert "Delete 1 connector?" in refused.stderr
    worker.create("c[*]", CONFIG)
    assert penstock("bulk", "delete", "c*", input="y\n").exit_code == 0
    worker.delete("c[*]")
    assert worker.connectors() == ["a", "b"]


def test_failures_have_causes_and_an_exit_status(penstock: Any, cluster: RestCluster, worker: Client) -> None:
    worker.pause("a")
    cluster.fail(TaskId("a", 0), "x.Y: no\nCaused by: java.io.IOException: disk full")
    said = penstock("bulk", "resume", "a", "--yes")
    assert said.exit_code == 1
    assert said.stderr == "penstock: a: failed. Task 0 is FAILED (java.io.IOException: disk full).\n"
    said = penstock("bulk", "set", "b", "nobody", "tasks.max=many", "--yes")
    assert said.exit_code == 1
    assert "Connector nobody not found" in said.stdout
    assert "tasks.max" in said.stderr
    cluster.now += 1000
    assert penstock("bulk", "set", "b", "topic=u", "--yes").exit_code == 0
    assert worker.config("b")["topic"] == "u"


def test_a_command_line_that_selects_nothing_or_too_much(penstock: Any, worker: Client) -> None:
    said = penstock("bulk", "stop")
    assert said.exit_code == 2
    assert "Name connectors, or choose them by" in said.stderr
    said = penstock("bulk", "stop", "-l", "team")
    assert said.exit_code == 1
    assert "The labels `team` mean all connectors that have a label `team`" in said.stderr
    assert penstock("bulk", "stop", "nothing-*").stderr == "penstock: No connector matches that.\n"
    assert states(worker) == ["RUNNING"] * 3
