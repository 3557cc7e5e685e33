"""Formats of files with a connector's configuration."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.api.errors import ConfigError
from penstock.core.model.messages import CreateConnector
from penstock.worker.connector_file import read_connector

ANSWER = json.dumps({"name": "c", "config": {"file": "a"}, "tasks": [{"connector": "c", "task": 0}], "type": "source"})
"""Answer to ``GET /connectors/c``."""


def written(folder: Path, name: str, content: str) -> Path:
    (folder / name).write_text(content)
    return folder / name


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("c.properties", "name=c\nfile=a\n"),
        ("c.json", '{"name": "c", "file": "a"}'),
        ("c.json", '{"name": "c", "config": {"file": "a"}}'),
        ("c.json", '{"name": "c", "config": {"file": "a", "name": "c"}}'),
        ("c.properties", '{"name": "c", "file": "a"}'),
        # As GET /connectors/c returns it.
        (
            "c.json",
            '{"name": "c", "config": {"file": "a"}, "tasks": [{"connector": "c", "task": 0}], "type": "source"}',
        ),
    ],
)
def test_formats(tmp_path: Path, name: str, content: str) -> None:
    assert read_connector(written(tmp_path, name, content)) == CreateConnector("c", {"name": "c", "file": "a"})


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("c.properties", "name=c\nconfig=a\n"),
        ("c.json", '{"name": "c", "config": "a"}'),
    ],
)
def test_a_setting_of_the_name_config(tmp_path: Path, name: str, content: str) -> None:
    assert read_connector(written(tmp_path, name, content)) == CreateConnector("c", {"name": "c", "config": "a"})


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("c.properties", "name=c \nfile=a"),
        ("c.json", '{"name": "c ", "file": "a"}'),
        ("c.json", '{"name": "c ", "config": {"name": "c ", "file": "a"}}'),
    ],
)
def test_names_are_taken_as_they_are(tmp_path: Path, name: str, content: str) -> None:
    assert read_connector(written(tmp_path, name, content)) == CreateConnector("c ", {"name": "c ", "file": "a"})


def test_members_without_effect_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert read_connector(written(tmp_path, "c.json", ANSWER)).name == "c"
    assert caplog.messages == []
    read_connector(written(tmp_path, "c.json", '{"name": "c", "config": {}, "initial_sate": "STOPPED"}'))
    [warning] = caplog.messages
    assert "has members without effect: initial_sate; they may be name, config, initial_state" in warning


def test_a_default_name_is_that_of_settings_without_one(tmp_path: Path) -> None:
    assert read_connector(written(tmp_path, "c.json", '{"file": "a"}'), "d").config == {"name": "d", "file": "a"}
    assert read_connector(written(tmp_path, "c.json", '{"name": "c"}'), "d").name == "c"


def test_a_state_to_start_in(tmp_path: Path) -> None:
    path = written(tmp_path, "c.json", '{"name": "c", "config": {}, "initial_state": "STOPPED"}')
    assert read_connector(path).initial_state == "STOPPED"


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("c.properties", "file=a\n", "is missing the mandatory 'name' configuration"),
        ("c.json", '{"file": "a"}', "is missing the mandatory 'name' configuration"),
        (
            "c.json",
            '{"name": "c", "config": {"name": "d"}}',
            "Connector name configuration in 'config' doesn't match the one specified in 'name' at '",
        ),
        ("c.json", '{"config": {"file": "a"}}', "is missing the mandatory 'name' configuration"),
        ("c.json", '{"name": "c", "file": {"a": "b"}}', "'file' must be a text, not an object"),
        ("c.json", '{"name": "c", "config": {}, "initial_state": "gone"}', "Unknown initial_state 'gone'"),
        ("c.properties", r"name=\u12x4", "Malformed \\uxxxx encoding"),
        ("c.json", "name=c", "is not a connector configuration: it is not valid JSON"),
    ],
)
def test_invalid_files_are_refused(tmp_path: Path, name: str, content: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_connector(written(tmp_path, name, content))
    assert sentence in str(caught.value)
