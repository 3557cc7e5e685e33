"""Files from outside: what has no end, or describes more than it has, is refused in bounded time and memory."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

import pytest
import yaml

from penstock.api.errors import ConfigError
from penstock.declarative.resources import read_resources
from penstock.declarative.variables import variables, yaml_documents
from penstock.files import MAX_FILE_BYTES, MAX_NODES, MAX_YAML_BYTES, load_yaml, read_file
from penstock.http.access.listeners import RestSettingError
from penstock.http.access.roles import Roles

pytestmark = pytest.mark.security


def laughs(levels: int = 12, each: int = 10) -> str:
    """Lists of aliases of lists: 10 to the power of 12 texts in 1 kilobyte."""
    lines = ['l0: &l0 "lol"']
    lines += [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * each)}]" for i in range(1, levels)]
    return "\n".join(lines)


def merges(levels: int = 12, each: int = 10) -> str:
    lines = ["l0: &l0 {a: b}"]
    lines += [f"l{i}: &l{i} {{<<: [{', '.join([f'*l{i - 1}'] * each)}]}}" for i in range(1, levels)]
    return "\n".join(lines)


BOMBS = {
    "aliases": (
        f"name: x\nconfig:\n  connector.class: FileStreamSource\n{laughs()}\n",
        f"more than {MAX_NODES} values",
    ),
    "merges": (merges(), f"more than {MAX_NODES} values"),
    "a long text": (f'a: &a "{"x" * 1_000_000}"\nb: [{", ".join(["*a"] * 5000)}]', f"more than {MAX_NODES} values"),
    "depth": ("[\n" * 50_000 + "]" * 50_000, "nested too deeply; 100 levels are accepted"),
    "levels": ("[" * 150 + "]" * 150, "nested too deeply; 100 levels are accepted"),
    "lines": ("\n".join(f"{' ' * i}a:" for i in range(400)), "nested too deeply; 100 levels are accepted"),
    "size": ("a: b\n" + "#" * MAX_YAML_BYTES, f"{MAX_YAML_BYTES} are accepted"),
    "itself": ("a: &a [*a]", "recursive"),
    "itself in a mapping": ("&a {b: *a}", "recursive"),
}


@pytest.mark.parametrize(("text", "problem"), BOMBS.values(), ids=BOMBS)
def test_a_yaml_bomb_is_refused_at_once(text: str, problem: str, tmp_path: Path) -> None:
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    file = tmp_path / "connector.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=problem) as raised:
        read_resources([file], {})
    assert len(str(raised.value)) < 500
    with pytest.raises(ConfigError, match=problem):
        variables([], [file])
    with pytest.raises(yaml.YAMLError, match=problem):
        list(yaml_documents(text))
    if "itself" not in text and problem != "recursive":  # the loader of roles is YAML's own
        with pytest.raises(RestSettingError, match=problem):
            Roles.parse(text)
    assert time.process_time() - started < 30
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000  # kilobytes


def test_aliases_within_the_limits_are_read() -> None:
    assert list(load_yaml("a: &a {b: c}\nd: {<<: *a, e: [*a, *a]}\n---\nf: g")) == [
        {"a": {"b": "c"}, "d": {"b": "c", "e": [{"b": "c"}, {"b": "c"}]}},
        {"f": "g"},
    ]


@pytest.mark.parametrize("suffix", [".json", ".properties", ".yaml"])
def test_a_file_of_any_kind_has_a_largest_size(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"connector{suffix}"
    with file.open("wb") as out:
        out.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(ConfigError, match=f"It has more than {MAX_FILE_BYTES} bytes"):
        read_resources([file], {})


def test_a_file_that_never_ends_or_begins_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="It is not a regular file"):
        read_file("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="It is not a regular file"):
        read_file(tmp_path / "pipe")
    with pytest.raises(IsADirectoryError):
        read_file(tmp_path)
    with pytest.raises(OSError, match="It has more than 1000 bytes"):
        read_file("/dev/zero", 1000, regular=False)


def test_json_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "connector.json"
    file.write_text('{"a":' * 100_000)
    with pytest.raises(ConfigError, match="is not a connector configuration"):
        read_resources([file], {})
