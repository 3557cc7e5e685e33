from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock import cli
from penstock.commands.apply import WOULD_CHANGE, difference
from penstock.declarative.plan import PlannedChange, PlanStep
from penstock.http.client import Client
from penstock.http.client_errors import UnreachableError
from penstock.observe import LogLevels
from support.log_levels import levels_kept
from support.rest.cluster import RestCluster
from support.rest.server import serve
from support.rest.without_values import cluster_class

APPLIED = {"penstock.labels.managed-by": "penstock-apply"}
ORDERS = {"name": "orders", "connector.class": "FileStreamSource", "topic": "t", "file": "f"}
NEW = """\
Connector orders does not exist yet:
  + connector.class=FileStreamSource
  + file=f
  + name=orders
  + penstock.labels.managed-by=penstock-apply
  + topic=t
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "orders.json"
    path.write_text(json.dumps(ORDERS))
    return path


def test_a_new_connector_is_created(penstock: Any, cluster: RestCluster, file: Path) -> None:
    said = penstock("apply", "-f", str(file))
    assert (said.exit_code, said.stdout) == (0, f"{NEW}Created connector orders.\n")
    assert cluster.workers["one"].herder.state.connectors["orders"].config == {**ORDERS, **APPLIED}


def test_a_connector_that_matches_its_file_is_not_changed(penstock: Any, cluster: RestCluster, file: Path) -> None:
    penstock("apply", "-f", str(file))
    written = len(cluster.topics.config)
    said = penstock("apply", "-f", str(file))
    assert (said.exit_code, said.stdout) == (0, "Connector orders is unchanged.\n")
    assert len(cluster.topics.config) == written


def test_a_connector_that_has_no_status_yet_is_there(penstock: Any, cluster: RestCluster, file: Path) -> None:
    penstock("apply", "-f", str(file))
    del cluster.workers["one"].herder.statuses.connectors["orders"]
    said = penstock("apply", "-f", str(file))
    assert (said.exit_code, said.stdout) == (0, "Connector orders is unchanged.\n")
    assert penstock("pause", "ord*").stdout == "Paused connector orders.\n"
    penstock("resume", "orders")
    del cluster.workers["one"].herder.statuses.connectors["orders"]
    file.write_text(json.dumps({**ORDERS, "file": "g"}))
    assert penstock("apply", "-f", str(file), "--wait", "30", "--rollback").exit_code == 0


def test_a_plugin_that_validates_itself_may_leave_out_values(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(
        json.dumps({"name": "c", "connector.class": "applied_without_values.WithoutValues", "place": "here"})
    )
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    with ThreadPoolExecutor(2) as pool, levels_kept():
        cluster = cluster_class(plugins, "applied_without_values")(pool, LogLevels())
        cluster.start("one")
        with serve(cluster.app("one")) as url:
            said = CliRunner().invoke(cli.app, ["apply", "-f", str(tmp_path / "c.json"), "--url", url])
    assert (said.exit_code, said.stdout.splitlines()[-1]) == (0, "Created connector c.")


def test_the_difference_is_shown_before_a_change(penstock: Any, cluster: RestCluster, file: Path) -> None:
    penstock("apply", "-f", str(file))
    file.write_text(json.dumps({"name": "orders", "config": {**ORDERS, "file": "g", "tasks.max": 2}}))
    said = penstock("apply", "-f", str(file))
    assert said.stdout == (
        "Connector orders differs:\n  - file=f\n  + file=g\n  + tasks.max=2\nUpdated connector orders.\n"
    )
    assert cluster.workers["one"].herder.state.connectors["orders"].config["tasks.max"] == "2"


def test_secrets_are_not_in_the_difference(penstock: Any, file: Path) -> None:
    """The output is what a pipeline logs."""
    secrets = {"db.password": "canary-old", "db.url": "jdbc:x://u:canary-url@h/d", "key": "${file:/x:y}"}
    file.write_text(json.dumps({**ORDERS, **secrets}))
    said = penstock("apply", "-f", str(file)).stdout
    file.write_text(json.dumps({**ORDERS, **secrets, "db.password": "canary-new", "key": "${file:/x:z}"}))
    changed = penstock("apply", "-f", str(file), "--dry-run").stdout
    told = json.loads(penstock("apply", "-f", str(file), "--dry-run", "-o", "json").stdout)
    assert "canary" not in said + changed + json.dumps(told)
    assert "  + db.url=jdbc:x://[hidden]@h/d\n" in said
    assert changed.splitlines()[1:] == [
        "  - db.password=[hidden]",
        "  + db.password=[hidden]",
        "  - key=${file:/x:y}",
        "  + key=${file:/x:z}",
    ]


def test_a_dry_run_changes_nothing(penstock: Any, cluster: RestCluster, file: Path) -> None:
    said = penstock("apply", "-f", str(file), "--dry-run")
    assert (said.exit_code, said.stdout) == (WOULD_CHANGE, NEW)
    assert "orders" not in cluster.workers["one"].herder.state.connectors


def test_a_dry_run_has_the_worker_look_for_mistakes(penstock: Any, file: Path) -> None:
    file.write_text(json.dumps({"name": "orders", "connector.class": "FileStreamSource", "tasks.max": "many"}))
    said = penstock("apply", "-f", str(file), "--dry-run")
    assert said.exit_code == 1
    assert (
        'penstock: Connector orders: Missing required configuration "topic" which has no default value.' in said.stderr
    )
    assert "Connector orders: Invalid value many for configuration tasks.max" in said.stderr


@pytest.mark.parametrize(("options", "status"), [(("--dry-run",), WOULD_CHANGE), ((), 0)])
def test_settings_without_effect_are_warned_of(penstock: Any, file: Path, options: Any, status: int) -> None:
    file.write_text(json.dumps({**ORDERS, "value.converter.schemas.enable": "false"}))
    said = penstock("apply", "-f", str(file), *options)
    assert said.exit_code == status
    assert said.stderr.count("Connector orders: warning: 'value.converter.schemas.enable' has no effect: ") == 1


def test_a_folder_is_all_of_its_files_and_one_that_is_refused_stops_none(penstock: Any, tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text(json.dumps({"name": "broken", "config": {"connector.class": "FileStreamSource"}}))
    (tmp_path / "2.properties").write_text("name=orders\nconnector.class=FileStreamSource\ntopic=t\nfile=f\n")
    (tmp_path / "README").write_text("no connector")
    said = penstock("apply", "-f", str(tmp_path))
    assert said.exit_code == 1
    assert said.stderr.startswith("penstock: Connector broken: Connector configuration is invalid and contains")
    assert said.stdout.endswith(f"{NEW}Created connector orders.\n")


def test_a_new_connector_may_begin_in_another_state_and_elsewhere(
    penstock: Any, cluster: RestCluster, file: Path
) -> None:
    offsets = [{"partition": {"filename": "f"}, "offset": {"position": 3}}]
    wanted = {"name": "orders", "config": ORDERS, "initial_state": "STOPPED", "initial_offsets": offsets}
    file.write_text(json.dumps(wanted))
    assert penstock("apply", "-f", str(file)).exit_code == 0
    assert cluster.workers["one"].herder.state.target_state("orders") == "STOPPED"
    assert json.loads(penstock("get", "offsets", "orders", "-o", "json").stdout) == {"offsets": offsets}


@pytest.mark.parametrize(
    ("content", "complaint", "status"),
    [
        ("{", "is not a connector configuration: it is not valid JSON", 1),
        ('{"connector.class": "FileStreamSource"}', "is missing the mandatory 'name' configuration", 1),
        ('{"name": "", "config": {}}', "does not name its connector: add a `name`.", 1),
        (None, "cannot be read: No such file or directory", 1),
    ],
)
def test_files_that_are_no_connectors(
    penstock: Any, file: Path, content: str | None, complaint: str, status: int
) -> None:
    file.unlink() if content is None else file.write_text(content)
    said = penstock("apply", "-f", str(file))
    assert said.exit_code == status
    assert complaint in " ".join(said.stderr.replace("│", " ").split())


def test_a_cluster_that_is_away_leaves_all_clusters_as_they_are(
    penstock: Any, url: str, worker: Client, tmp_path: Path
) -> None:
    for name in ("near", "far"):
        (tmp_path / f"{name}.yaml").write_text(
            f"apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnector\n"
            f"metadata: {{name: {name}, labels: {{strimzi.io/cluster: {name}}}}}\n"
            f"spec: {{class: FileStreamSource, config: {{topic: t, file: f}}}}\n"
        )
    clusters = ("--cluster", f"near={url}", "--cluster", "far=http://127.0.0.1:1")
    said = penstock("apply", "-f", str(tmp_path), "-o", "json", *clusters)
    assert (said.exit_code, said.stdout) == (4, "")
    assert "127.0.0.1:1" in said.stderr
    assert worker.connectors() == []


@pytest.mark.parametrize(
    ("problem", "status"), [(UnreachableError("No worker answers."), 4), (KeyboardInterrupt(), 130)]
)
def test_json_lists_changes_made_before_the_end_of_apply(
    penstock: Any, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: BaseException, status: int
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.json").write_text(json.dumps({**ORDERS, "name": name}))
    created = Client.create

    def create(self: Client, name: str, *rest: Any) -> Any:
        if name == "b":
            raise problem
        return created(self, name, *rest)

    monkeypatch.setattr(Client, "create", create)
    said = penstock("apply", "-f", str(tmp_path), "-o", "json")
    steps = [(step["url"], step["connector"], step["errors"]) for step in json.loads(said.stdout)]
    assert steps == [(url, "a", []), (url, "b", ["No worker answers."] if status == 4 else [])]
    assert said.exit_code == status


def test_a_folder_without_connectors_is_a_mistake(penstock: Any, tmp_path: Path) -> None:
    said = penstock("apply", "-f", str(tmp_path))
    assert (said.exit_code, "holds no file that ends in .json" in said.stderr) == (1, True)


def test_difference() -> None:
    step = PlanStep("x", PlannedChange.UPDATE, {"a": "1", "b": "2"}, {"b": "3", "c": None})
    assert list(difference(step)) == ["  - a=1", "  - b=2", "  + b=3", "  + c=null"]
    assert list(difference(PlanStep("x", PlannedChange.NONE, ORDERS, ORDERS))) == []
