from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock import cli
from penstock.commands._output import print_json


def penstock(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    program = "from penstock.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment or None,
    )


def test_help_names_every_command() -> None:
    said = penstock("--help")
    assert said.returncode == 0
    names = [file.stem for file in (Path(cli.__file__).parent / "commands").glob("[a-z]*.py")]
    assert "kafka" in names
    assert [name for name in names if f" {name} " not in said.stdout] == []


def test_without_arguments_there_is_help() -> None:
    assert "kafka" in penstock().stdout


def test_an_unknown_command_is_an_error() -> None:
    said = penstock("kafak")
    assert said.returncode == 2
    assert "kafak" in said.stderr


def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys; from penstock.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'pyspark', 'confluent_kafka', 'pandas', 'starlette', 'cryptography'} & set(sys.modules)))"
    )
    said = subprocess.run([sys.executable, "-c", program, "--help"], capture_output=True, text=True, check=True)
    assert said.stdout.rstrip().endswith("[]")


def test_an_error_is_one_sentence_without_a_trace(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = penstock("kafka", "up", "--port", "0", "--data", str(tmp_path / "file"))
    assert said.returncode == 1
    assert said.stdout == ""
    assert said.stderr == (
        f"penstock: {tmp_path}/file/data can't be a folder, since a file is in the way: "
        "move it, or choose another folder.\n"
    )


def test_unprintable_characters_are_escaped(tmp_path: Path) -> None:
    folder = tmp_path / "zürich"
    folder.mkdir()
    said = penstock(
        "new", "source", "weather-source", "--in", str(folder), **{**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.startswith(f"Made {tmp_path}/z\\xfcrich/weather-source.")


@pytest.mark.parametrize(("encoding", "value"), [("ascii", "zürich"), ("utf-8", "half \ud83d of a pair")])
def test_json_is_json_in_every_encoding_and_there_at_once(
    encoding: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding, errors="backslashreplace"))
    print_json([value])
    assert json.loads(written.getvalue()) == [value]
