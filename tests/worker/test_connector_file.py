"""What files a connector's configuration may come in."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.api.errors import ConfigError
from penstock.core.model.messages import CreateConnector
from penstock.worker.connector_file import read_connector


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
    ],
)
def test_formats(tmp_path: Path, name: str, content: str) -> None:
    assert read_connector(written(tmp_path, name, content)) == CreateConnector("c", {"name": "c", "file": "a"})


def test_a_state_to_start_in(tmp_path: Path) -> None:
    path = written(tmp_path, "c.json", '{"name": "c", "config": {}, "initial_state": "STOPPED"}')
    assert read_connector(path).initial_state == "STOPPED"


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("c.properties", "file=a\n", "is missing the mandatory 'name' configuration"),
        ("c.json", '{"file": "a"}', "is missing the mandatory 'name' configuration"),
        ("c.json", '{"name": "c", "config": {"name": "d"}}', "doesn't match"),
        ("c.properties", r"name=\u12x4", "Malformed \\uxxxx encoding"),
        ("c.json", "name=c", "is not a connector configuration: it is not valid JSON"),
    ],
)
def test_what_is_refused(tmp_path: Path, name: str, content: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_connector(written(tmp_path, name, content))
    assert sentence in str(caught.value)
