"""Misspelt names of commands, connectors, classes and plugins: what was probably meant is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands.conftest import CONFIG, Run
from penstock.http.client import Client
from penstock.http.client_errors import WorkerError

JSON = "org.apache.kafka.connect.json.JsonConverter"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("demoo", "No such command 'demoo'. Did you mean 'demo'?"),
        ("wroker distributed x", "No such command 'wroker'. Did you mean 'worker'?"),
        ("start", "No such command 'start'. Did you mean 'restart'?"),
        ("plugins lst", "No such command 'lst'. Did you mean 'list'?"),
        ("offsets rest", "No such command 'rest'. Did you mean 'reset'?"),
        ("quite-other", "No such command 'quite-other'."),
        ("status --ulr x", "No such option: --ulr (Possible options: --url, --user)"),
        ("--versoin", "No such option: --versoin (Possible options: --version)"),
    ],
)
def test_commands_and_options(penstock: Run, words: str, said: str) -> None:
    run = penstock(*words.split())
    assert run.exit_code == 2
    assert f" {said} " in run.stderr


@pytest.mark.usefixtures("source")
@pytest.mark.parametrize(
    "words",
    [
        "status ordres",
        "restart ordres",
        "pause ordres",
        "stop ordres",
        "resume ordres",
        "delete ordres",
        "logs ordres",
        "logs --follow ordres",
        "logs --level DEBUG ordres",
        "offsets get ordres",
        "topics show ordres",
        "history ordres",
        "rollback ordres",
        "dlq list ordres",
        "get config ordres",
    ],
)
def test_connectors(penstock: Run, words: str) -> None:
    run = penstock(*words.split())
    assert (run.exit_code, run.stdout) == (3, "")
    assert run.stderr.startswith("penstock: ")
    assert run.stderr.endswith(". Did you mean 'orders'?\n")


@pytest.mark.usefixtures("source")
def test_a_connector_that_is_like_no_other_and_a_task_that_is_not_there(penstock: Run) -> None:
    assert penstock("pause", "quite-other").stderr == "penstock: Unknown connector quite-other\n"
    assert penstock("restart", "orders", "--task", "7").stderr == "penstock: Unknown task: orders-7\n"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (
            {"connector.class": "FileStreamSorce"},
            ". Did you mean 'org.apache.kafka.connect.file.FileStreamSourceConnector'?",
        ),
        (
            {"connector.class": "org.apache.kafka.FileStreamSource"},
            ". Did you mean 'org.apache.kafka.connect.file.FileStreamSourceConnector'?",
        ),
        (
            {"value.converter": "JsonConvertor"},
            f"Class JsonConvertor could not be found. Did you mean '{JSON}'?\n",
        ),
        (
            {"transforms": "a", "transforms.a.type": "org.apache.kafka.connect.transforms.HoistFeild$Key"},
            "HoistFeild$Key could not be found. Did you mean 'org.apache.kafka.connect.transforms.HoistField$Key'?\n",
        ),
        ({"value.converter": "com.example.Quite"}, "Class com.example.Quite could not be found.\n"),
    ],
)
def test_classes_in_the_answer_of_a_worker(worker: Client, config: dict[str, str], said: str) -> None:
    with pytest.raises(WorkerError) as refused:
        worker.create("c", {**CONFIG, **config})
    assert (refused.value.status, said in refused.value.message + "\n") == (400, True), refused.value.message


@pytest.mark.parametrize("command", ["list", "pack x.tar.gz", "remove one"])
def test_a_folder_of_plugins_that_is_not_there(penstock: Run, tmp_path: Path, command: str) -> None:
    run = penstock("plugins", *command.split(), "--plugin-path", str(tmp_path / "none"))
    assert (run.exit_code, run.stdout) == (2, "")
    assert f"there is no folder {tmp_path}/none; `penstock plugins install` makes it" in run.stderr


def test_a_folder_without_plugins(penstock: Run, tmp_path: Path) -> None:
    run = penstock("plugins", "list", "--plugin-path", str(tmp_path))
    assert (run.exit_code, run.stdout) == (0, "")
    assert run.stderr == f"{tmp_path} has no plugins with environments of their own.\n"


def test_a_driver(penstock: Run) -> None:
    run = penstock("plugins", "install", "jdbc-postgres")
    assert run.exit_code == 2
    assert "Did you mean 'jdbc-postgresql'?" in run.stderr
