"""``penstock lint``: connectors in files, without a worker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from penstock import cli

LINES = {"connector.class": "FileStreamSource", "topic": "t", "file": "/tmp/lines"}


def lint(*arguments: object) -> Result:
    """Run it where no worker and no broker can be reached."""
    return CliRunner(env={"PENSTOCK_URL": "http://127.0.0.1:1"}).invoke(cli.app, ["lint", *map(str, arguments)])


def file(folder: Path, name: str = "lines", **settings: str) -> Path:
    path = folder / f"{name}.json"
    path.write_text(
        json.dumps({"name": name, **LINES, **{key.replace("__", "."): each for key, each in settings.items()}})
    )
    return path


def test_valid_connectors_are_named(tmp_path: Path) -> None:
    said = lint(file(tmp_path))
    assert (said.exit_code, said.stdout) == (0, f"{tmp_path}/lines.json: connector lines: valid\n")


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"connector.class": "NoSuchSink"}, "Failed to find any class that implements Connector"),
        ({"tasks.max": "none"}, "Invalid value none for configuration tasks.max"),
        ({"batch.size": "many"}, "Invalid value many for configuration batch.size"),
        ({"transforms": "x", "transforms.x.type": "NoSuchTransform"}, "transforms.x.type"),
    ],
)
def test_what_a_worker_would_refuse_is_an_error(tmp_path: Path, settings: dict[str, str], problem: str) -> None:
    said = lint(file(tmp_path, **settings))
    assert said.exit_code == 1
    assert f"{tmp_path}/lines.json: connector lines: refused" in said.stdout
    assert problem in said.stderr


def test_a_required_setting_that_is_missing_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "lines.json"
    path.write_text(json.dumps({"name": "lines", "connector.class": "FileStreamSource"}))
    said = lint(path)
    assert said.exit_code == 1
    assert 'Missing required configuration "topic" which has no default value.' in said.stderr


def test_settings_without_effect_are_warnings_or_errors(tmp_path: Path) -> None:
    path = file(tmp_path, fiel="x")
    said = lint(path)
    warning = "'fiel' is no setting of this connector and has no effect. Did you mean 'file'?"
    assert (said.exit_code, f"  warning: {warning}" in said.stdout) == (0, True)
    strict = lint(path, "--strict")
    assert (strict.exit_code, warning in strict.stderr) == (1, True)
    (tmp_path / "worker.properties").write_text("penstock.config.strict=true\n")
    assert lint(path, "--worker", tmp_path / "worker.properties").exit_code == 1


def test_references_to_config_providers_are_not_checked(tmp_path: Path) -> None:
    (found,) = json.loads(lint(file(tmp_path, batch__size="${file:/x:size}"), "-o", "json").stdout)
    assert found["unchecked"] == ["batch.size"]
    assert found["errors"] == []


def test_a_plugin_path_that_is_not_here_is_an_error(tmp_path: Path) -> None:
    worker = tmp_path / "worker.properties"
    worker.write_text(f"plugin.path={tmp_path}/nothing\n")
    said = lint(file(tmp_path), "--worker", worker)
    assert said.exit_code != 0
    assert f"{tmp_path}/nothing does not exist on this machine" in said.stderr


def test_names_of_refused_connectors_are_printed_for_other_commands(tmp_path: Path) -> None:
    file(tmp_path, name="good")
    file(tmp_path, name="bad", tasks__max="none")
    said = lint(tmp_path, "-o", "name")
    assert (said.exit_code, said.stdout) == (1, "bad\n")
