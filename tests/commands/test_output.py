"""Output of commands for programs."""

from __future__ import annotations

import enum

import pytest
import yaml

from penstock.commands._output import print_yaml


class Level(enum.IntEnum):
    LOW = 1


class Color(enum.StrEnum):
    RED = "red"


def test_yaml_takes_each_value_that_json_takes(capsys: pytest.CaptureFixture[str]) -> None:
    print_yaml({"level": Level.LOW, "colors": (Color.RED,), Color.RED: None, "é": 1.5})
    assert yaml.safe_load(capsys.readouterr().out) == {"level": 1, "colors": ["red"], "red": None, "é": 1.5}
