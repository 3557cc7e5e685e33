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


@pytest.mark.parametrize(
    ("settings", "unchecked"),
    [
        ({"connector.class": "${env:CLS}"}, {"connector.class", "topic", "file", "transforms", "transforms.a.type"}),
        ({"transforms": "${file:/x:t}"}, {"transforms", "transforms.a.type"}),
        ({"transforms": "a,${file:/x:t}"}, {"transforms", "transforms.a.type"}),
        (
            {"transforms.a.type": "${file:/x:t}", "transforms.a.fields": "f"},
            {"transforms.a.type", "transforms.a.fields"},
        ),
        ({"predicates": "${file:/x:t}", "transforms.a.predicate": "p"}, {"predicates", "transforms.a.predicate"}),
        ({"key.converter": "${env:C}", "key.converter.x": "y"}, {"key.converter", "key.converter.x"}),
        ({"connector.plugin.version": "${env:V}"}, {"connector.plugin.version"}),
        ({"transforms.a.plugin.version": "${env:V}"}, {"transforms.a.plugin.version"}),
    ],
)
def test_settings_that_depend_on_a_reference_are_not_checked(
    tmp_path: Path, settings: dict[str, str], unchecked: set[str]
) -> None:
    chain = {
        "transforms": "a",
        "transforms.a.type": "org.apache.kafka.connect.transforms.DropHeaders",
        "transforms.a.headers": "h",
    }
    said = lint(file(tmp_path, **(chain | settings)), "-o", "json", "--strict")
    (found,) = json.loads(said.stdout)
    assert (said.exit_code, found["errors"], found["warnings"]) == (0, [], [])
    assert set(found["unchecked"]) >= unchecked
    assert set(found["unchecked"]) - {"transforms.a.headers"} == unchecked


def test_secrets_are_not_printed(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"name": "a", "connection.password": "hunter2", "topics": "t"}))
    for options in ((), ("-o", "json")):
        said = lint(path, *options)
        assert said.exit_code == 1
        assert "hunter2" not in said.output
        assert "contains no connector type" in said.output
    said = lint(file(tmp_path, **{"tasks.max": "hunter-22", "my.password": "hunter-22"}))
    assert (said.exit_code, "hunter-22" in said.output) == (1, False)
    assert "Invalid value [hidden] for configuration tasks.max" in said.stderr


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
