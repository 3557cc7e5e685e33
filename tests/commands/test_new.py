"""``penstock new``: what it makes passes its own tests and checks, and a worker finds it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.core.config.catalog import Kind
from penstock.scaffold.package import KINDS

FOUND = {
    "source": Kind.SOURCE, "sink": Kind.SINK, "transform": Kind.TRANSFORMATION, "converter": Kind.CONVERTER
}  # fmt: skip
LISTING = """
import sys
from penstock.core.config.catalog import Kind
from penstock.plugins import Plugins
for found in Plugins.discover([sys.argv[1]]).catalog.of_kind(*Kind):
    if found.location != "classpath":
        print(found.java_name, found.version, *(kind.name for kind in found.kinds))
"""


def run(folder: Path, *command: str) -> str:
    done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mypy")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_it_passes_its_tests_and_is_found(penstock: Any, tmp_path: Path, cache: Path, kind: str) -> None:
    said = penstock("new", kind, f"my-{kind}", "--in", str(tmp_path))
    assert said.exit_code == 0, said.stderr
    folder = tmp_path / f"my-{kind}"
    assert "passed" in run(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert "Success" in run(folder, "-m", "mypy", "--cache-dir", str(cache))
    run(folder, "-m", "ruff", "check", "--no-cache", ".")
    run(folder, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "plugins"))
    listed = run(tmp_path, "-c", LISTING, str(tmp_path / "plugins")).splitlines()
    assert listed == [f"my_{kind}.My{kind.capitalize()} 0.1.0 {FOUND[kind].name}"]


@pytest.mark.parametrize("name", ["Weather", "-x", "a_b", "1a", "class", "none", "a--b", "../a"])
def test_names(penstock: Any, tmp_path: Path, name: str) -> None:
    said = penstock("new", "source", "--in", str(tmp_path), "--", name)
    assert (said.exit_code, list(tmp_path.iterdir())) == (1, [])
    assert f"penstock: `{name}` can't be the name of a plugin; expected" in said.stderr


@pytest.mark.parametrize("name", ["json", "pyarrow"])
def test_a_name_that_a_module_has(penstock: Any, tmp_path: Path, name: str) -> None:
    """A worker would find the other module in its place."""
    said = penstock("new", "sink", name, "--in", str(tmp_path))
    assert (said.exit_code, list(tmp_path.iterdir())) == (1, [])
    assert f"has a module {name} already; try `{name}-sink`" in said.stderr


@pytest.mark.parametrize(
    ("kind", "name", "taken"),
    [
        ("source", "settings", "Settings"),
        ("source", "config-def", "ConfigDef"),
        ("source", "source", "SourceTask"),
        ("source", "test-contract", "TestContract"),
        ("sink", "path", "Path"),
        ("converter", "converter", "Converter"),
        ("transform", "transformation", "Transformation"),
    ],
)
def test_a_name_whose_class_the_module_needs_for_something_else(
    penstock: Any, tmp_path: Path, kind: str, name: str, taken: str
) -> None:
    said = penstock("new", kind, name, "--in", str(tmp_path))
    assert (said.exit_code, list(tmp_path.iterdir())) == (1, [])
    assert f"its module needs {taken} for something else; try `{name}-{kind}`" in said.stderr
    assert penstock("new", kind, f"{name}-{kind}", "--in", str(tmp_path)).exit_code == 0


def test_a_folder_that_is_there_stays_as_it_is(penstock: Any, tmp_path: Path) -> None:
    (tmp_path / "my-sink").mkdir()
    said = penstock("new", "sink", "my-sink", "--in", str(tmp_path))
    assert (said.exit_code, said.stderr) == (
        1,
        f"penstock: There is a folder {tmp_path}/my-sink already, which stays as it is: "
        "choose another name, or another place with --in\n",
    )
    assert list((tmp_path / "my-sink").iterdir()) == []


def test_an_installed_plugin_is_reported_with_its_folder(penstock: Any, tmp_path: Path) -> None:
    (tmp_path / "pyarrow").mkdir()
    said = penstock("new", "sink", "pyarrow", "--in", str(tmp_path))
    assert f"There is a folder {tmp_path}/pyarrow already" in said.stderr
