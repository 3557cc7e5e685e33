"""The sdist and the wheel are complete: all that a user does works without the checkout."""

from __future__ import annotations

import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from installed.conftest import ROOT, Dist, Installed

pytestmark = pytest.mark.slow

NOT_IN_THE_SDIST = {".gitignore", ".pre-commit-config.yaml"}
WHERE = "import penstock, sys; print(penstock.__file__.startswith(sys.prefix))"


def tracked() -> list[str]:
    command = ["git", "ls-files"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("this is not a checkout")
    return done.stdout.splitlines()


def test_every_file_of_the_checkout_is_in_the_sdist(dist: Dist) -> None:
    with tarfile.open(dist.sdist) as archive:
        there = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {name for name in tracked() if not name.startswith((".ci/", ".github/"))} - NOT_IN_THE_SDIST
    assert wanted - there == set()


def test_every_file_of_the_package_is_in_the_wheel(dist: Dist) -> None:
    with zipfile.ZipFile(dist.wheel) as archive:
        there = set(archive.namelist())
    wanted = {name.removeprefix("src/") for name in tracked() if name.startswith("src/")}
    assert wanted - there == set()
    assert {Path(name).parts[0] for name in there} == {"penstock", dist.wheel.name.rpartition("-py3")[0] + ".dist-info"}


def test_commands_and_new_plugins(installed: Installed, tmp_path: Path) -> None:
    assert installed.python("-c", WHERE, cwd=tmp_path) == "True\n"
    assert "worker" in installed.penstock("--help", cwd=tmp_path)
    installed.penstock("new", "source", "my-source", cwd=tmp_path)
    said = installed.python("-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=tmp_path / "my-source")
    assert "passed" in said
