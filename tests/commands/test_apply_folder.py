"""``penstock apply`` with everything: prune, selectors, states, JSON, waiting and taking back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.commands.apply import WOULD_CHANGE
from penstock.core.model.tasks import TaskId
from penstock.declarative.plan import APPLIED
from penstock.http.client import Client
from support.rest.cluster import RestCluster
from support.rest.server import serve

ORDERS = """\
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaConnector
metadata: {name: orders, labels: {team: billing}}
spec:
  class: FileStreamSource
  tasksMax: 1
  state: STATE
  config: {topic: t, file: /tmp/FILE}
"""


def write(folder: Path, state: str = "running", file: str = "f") -> None:
    (folder / "orders.yaml").write_text(ORDERS.replace("STATE", state).replace("FILE", file))


def plan(said: Any) -> dict[str, str]:
    return {step["connector"]: step["change"] for step in json.loads(said.stdout)}


def test_a_second_run_plans_nothing(penstock: Any, tmp_path: Path) -> None:
    write(tmp_path)
    arguments = ("apply", "-f", str(tmp_path), "--prune", "-o", "json")
    dry = penstock(*arguments, "--dry-run")
    assert (dry.exit_code, plan(dry)) == (WOULD_CHANGE, {"orders": "create"})
    real = penstock(*arguments)
    assert (real.exit_code, plan(real)) == (0, {"orders": "create"})
    again = penstock(*arguments, "--dry-run")
    assert (again.exit_code, plan(again)) == (0, {"orders": "unchanged"})


def test_a_dry_run_that_finds_a_mistake_says_so_whatever_else_would_change(penstock: Any, tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "broken.json").write_text(json.dumps({"name": "broken", "connector.class": "FileStreamSource"}))
    said = penstock("apply", "-f", str(tmp_path), "--dry-run", "-o", "json")
    assert (said.exit_code, plan(said)) == (1, {"broken": "create", "orders": "create"})


def test_prune_asks_before_it_deletes_many(penstock: Any, url: str, tmp_path: Path) -> None:
    write(tmp_path)
    config = {"connector.class": "FileStreamSource", "topic": "t", "file": "f", APPLIED[0]: APPLIED[1]}
    with Client(url) as worker:
        for name in "abcd":
            worker.create(name, config)
        said = penstock("apply", "-f", str(tmp_path), "--prune", input="n\n")
        assert (said.exit_code, worker.connectors()) == (1, ["a", "b", "c", "d"])
        assert f"No file describes 4 connectors of {url}: a, b, c, d. Delete them? [y/N]" in said.stderr
        unanswered = penstock("apply", "-f", str(tmp_path), "--prune")
        assert (unanswered.exit_code, worker.connectors()) == (2, ["a", "b", "c", "d"])
        assert "add --yes" in " ".join(unanswered.stderr.replace("│", " ").split())
        assert penstock("apply", "-f", str(tmp_path), "--prune", "--yes").exit_code == 0
        assert worker.connectors() == ["orders"]


def test_prune_asks_for_all_clusters_before_it_changes_one(
    penstock: Any, cluster: RestCluster, url: str, tmp_path: Path
) -> None:
    write(tmp_path)
    config = {"connector.class": "FileStreamSource", "topic": "t", "file": "f", APPLIED[0]: APPLIED[1]}
    with Client(url) as worker, serve(cluster.app("one")) as other:
        for name in "abcd":
            worker.create(name, config)
        clusters = ("--cluster", f"near={url}", "--cluster", f"far={other}")
        said = penstock("apply", "-f", str(tmp_path), "--prune", *clusters, input="y\nn\n")
        assert (said.exit_code, worker.connectors()) == (1, ["a", "b", "c", "d"])
        assert all(f"No file describes 4 connectors of {each}" in said.stderr for each in (url, other))


def test_prune_deletes_connectors_without_a_file(penstock: Any, url: str, tmp_path: Path) -> None:
    write(tmp_path)
    config = {"connector.class": "FileStreamSource", "topic": "t", "file": "f"}
    with Client(url) as worker:
        worker.create("old", {**config, APPLIED[0]: APPLIED[1], "penstock.labels.team": "billing"})
        worker.create("others", {**config, APPLIED[0]: APPLIED[1], "penstock.labels.team": "web"})
        worker.create("by-hand", {**config, "penstock.labels.team": "billing"})
        selected = ("apply", "-f", str(tmp_path), "--prune", "-l", "team=billing")
        assert penstock(*selected, "--dry-run").exit_code == WOULD_CHANGE
        assert sorted(worker.connectors()) == ["by-hand", "old", "others"]
        said = penstock(*selected)
        assert "Connector old is described by no file.\nDeleted connector old.\n" in said.stdout
        assert sorted(worker.connectors()) == ["by-hand", "orders", "others"]


def test_a_connector_whose_file_has_other_labels_now_is_not_deleted(penstock: Any, url: str, tmp_path: Path) -> None:
    write(tmp_path)
    penstock("apply", "-f", str(tmp_path))
    (tmp_path / "orders.yaml").write_text((tmp_path / "orders.yaml").read_text().replace("billing", "web"))
    said = penstock("apply", "-f", str(tmp_path), "--prune", "-l", "team=billing")
    assert (said.exit_code, said.stdout) == (0, "")
    with Client(url) as worker:
        assert worker.connectors() == ["orders"]


def test_annotations_set_state_and_labels(penstock: Any, url: str, tmp_path: Path) -> None:
    write(tmp_path)
    penstock("apply", "-f", str(tmp_path))
    text, arguments = (tmp_path / "orders.yaml").read_text(), ("apply", "-f", str(tmp_path), "--prune")

    def annotate(annotation: str) -> None:
        (tmp_path / "orders.yaml").write_text(text.replace("{name", f"{{annotations: {{{annotation}: true}}, name"))

    annotate("jikkou.io/ignore")
    said = penstock(*arguments)
    assert (said.exit_code, said.stdout) == (0, "")
    annotate("jikkou.io/delete")
    says = f"Connector orders is to be deleted, says {tmp_path / 'orders.yaml'}.\n"
    assert penstock(*arguments).stdout == f"{says}Deleted connector orders.\n"
    assert penstock(*arguments).stdout == ""
    with Client(url) as worker:
        assert worker.connectors() == []


def test_two_clusters_at_one_url(penstock: Any, url: str, tmp_path: Path) -> None:
    for cluster in ("east", "west"):
        text = ORDERS.replace("team: billing", f"strimzi.io/cluster: {cluster}").replace("STATE", "running")
        (tmp_path / f"{cluster}.yaml").write_text(text)
    for options in ((), ("--cluster", f"east={url}", "--cluster", f"west={url}")):
        said = penstock("apply", "-f", str(tmp_path), *options)
        assert (said.exit_code, said.stdout) == (2, "")
        assert "for the clusters east and west" in " ".join(said.stderr.replace("│", " ").split())
    with Client(url) as worker:
        assert worker.connectors() == []


def test_one_worker_named_with_and_without_a_slash_is_one_place(penstock: Any, url: str, tmp_path: Path) -> None:
    """Otherwise connectors of one file would be deleted because the other does not have them."""
    east = ORDERS.replace("team: billing", "strimzi.io/cluster: east").replace("STATE", "running")
    (tmp_path / "east.yaml").write_text(east)
    (tmp_path / "clicks.json").write_text(
        json.dumps({"name": "clicks", "connector.class": "FileStreamSource", "topic": "t", "file": "f"})
    )
    said = penstock("apply", "-f", str(tmp_path), "--cluster", f"east={url}/", "--prune", "-o", "json")
    assert (said.exit_code, plan(said)) == (0, {"clicks": "create", "orders": "create"})
    with Client(url) as worker:
        assert sorted(worker.connectors()) == ["clicks", "orders"]


def test_states(penstock: Any, url: str, tmp_path: Path) -> None:
    write(tmp_path, "stopped")
    penstock("apply", "-f", str(tmp_path))
    with Client(url) as worker:
        assert worker.status("orders")["connector"]["state"] == "STOPPED"
        write(tmp_path)
        said = penstock("apply", "-f", str(tmp_path))
        assert said.stdout == "Connector orders is in another state.\nConnector orders is to be RUNNING.\n"
        assert worker.status("orders")["connector"]["state"] == "RUNNING"


def test_a_healthy_change(penstock: Any, tmp_path: Path) -> None:
    write(tmp_path)
    said = penstock("apply", "-f", str(tmp_path), "--wait", "30")
    assert (said.exit_code, said.stdout.splitlines()[-1]) == (0, "Connector orders is healthy.")


def test_a_connector_that_begins_paused_is_healthy_without_tasks(penstock: Any, url: str, tmp_path: Path) -> None:
    write(tmp_path, "paused")
    said = penstock("apply", "-f", str(tmp_path), "--wait", "30", "--rollback")
    assert (said.exit_code, said.stdout.splitlines()[-1]) == (0, "Connector orders is healthy.")
    with Client(url) as worker:
        status = worker.status("orders")
    assert (status["connector"]["state"], status["tasks"]) == ("PAUSED", [])


def test_a_change_that_is_not_healthy_is_taken_back(
    penstock: Any, cluster: RestCluster, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path)
    penstock("apply", "-f", str(tmp_path))
    write(tmp_path, file="missing")
    started = Client.put_config

    def failing(self: Client, name: str, config: Any) -> Any:
        answer = started(self, name, config)
        if config["file"] == "/tmp/missing":
            cluster.fail(TaskId("orders", 0), "java.io.IOException: no disk\nCaused by: java.io.IOException: full")
        return answer

    monkeypatch.setattr(Client, "put_config", failing)
    said = penstock("apply", "-f", str(tmp_path), "--wait", "1", "--rollback")
    assert said.exit_code == 1
    assert "task 0 is FAILED (Caused by: java.io.IOException: full). The change was taken back" in said.stderr
    with Client(url) as worker:
        assert worker.config("orders")["file"] == "/tmp/f"


def test_several_clusters(penstock: Any, url: str, tmp_path: Path) -> None:
    text = ORDERS.replace("team: billing", "strimzi.io/cluster: east").replace("STATE", "running")
    (tmp_path / "orders.yaml").write_text(text)
    unknown = penstock("apply", "-f", str(tmp_path), "--cluster", f"west={url}")
    assert (unknown.exit_code, "is for the cluster east" in unknown.stderr) == (2, True)
    said = penstock("apply", "-f", str(tmp_path), "--cluster", f"east={url}", "-o", "json")
    assert [step["url"] for step in json.loads(said.stdout)] == [url]


def test_rollback_needs_wait(penstock: Any, tmp_path: Path) -> None:
    write(tmp_path)
    assert penstock("apply", "-f", str(tmp_path), "--rollback").exit_code == 2


def test_verbs_by_pattern_label_and_state(penstock: Any, cluster: RestCluster, url: str) -> None:
    config = {"connector.class": "FileStreamSource", "topic": "t", "file": "f"}
    with Client(url) as worker:
        for name, team in (("orders-in", "billing"), ("orders-out", "billing"), ("clicks", "web")):
            worker.create(name, {**config, "penstock.labels.team": team})
    assert penstock("pause", "orders-*").stdout == "Paused connector orders-in.\nPaused connector orders-out.\n"
    assert penstock("resume", "--state", "paused", "-l", "team=billing").stdout.count("Resumed") == 2
    cluster.fail(TaskId("clicks", 0), "broken")
    restarted = penstock("restart", "--state", "FAILED", "--include-tasks", "--only-failed")
    assert restarted.stdout == "Restarting task 0 of connector clicks.\nConnector clicks is RUNNING.\n"
    nothing = penstock("stop", "-l", "team=nobody")
    assert (nothing.exit_code, nothing.stdout, nothing.stderr) == (0, "", "penstock: No connector matches that.\n")
    assert penstock("stop").exit_code == 2
    refused = penstock("delete", "orders-*", input="n\n")
    assert (refused.exit_code, "Delete orders-in, orders-out?" in refused.stderr) == (1, True)
    assert penstock("delete", "-l", "team=billing", "--yes").stdout.count("Deleted") == 2
    with Client(url) as worker:
        assert worker.connectors() == ["clicks"]
