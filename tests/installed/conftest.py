"""Penstock as users install it: from its wheel, in an environment without a checkout."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

import pytest

from installed.declared import closure, link
from penstock.embedded.home import home

ROOT = Path(__file__).parents[2]


def run(*command: object, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


@dataclass(frozen=True)
class Dist:
    """Files that ``make dist`` builds."""

    sdist: Path
    wheel: Path


@dataclass(frozen=True)
class Installed:
    """An environment with only the wheel, some of its extras and their dependencies, in the versions of the environment
    that runs the tests; and its own home, with the files that have been downloaded before.
    """

    folder: Path
    env: dict[str, str]

    @property
    def bin(self) -> Path:
        return self.folder / "env" / "bin"

    def penstock(self, *arguments: object, cwd: Path) -> str:
        return run(self.bin / "penstock", *arguments, cwd=cwd, env=self.env)

    def python(self, *arguments: object, cwd: Path) -> str:
        return run(self.bin / "python", *arguments, cwd=cwd, env=self.env)


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Dist:
    """The sdist of this checkout, and the wheel that is built from the sdist alone."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=ROOT)
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        if hasattr(tarfile, "data_filter"):  # Python 3.11.4 and later
            archive.extraction_filter = tarfile.data_filter
        archive.extractall(folder)
    unpacked = folder / sdist.name.removesuffix(".tar.gz")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=unpacked)
    (wheel,) = folder.glob("*.whl")
    return Dist(sdist, wheel)


@pytest.fixture(scope="session")
def installed(dist: Dist, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(dist, tmp_path_factory.mktemp("installed"), "test")


def install(dist: Dist, folder: Path, *extras: str) -> Installed:
    run(sys.executable, "-m", "venv", "--without-pip", folder / "env", cwd=folder)
    python = folder / "env" / "bin" / "python"
    uv, pip = ("uv", "pip", "install", "--python", python), (sys.executable, "-m", "pip", "--python", python, "install")
    run(*(uv if shutil.which("uv") else pip), "--no-deps", "--no-index", dist.wheel, cwd=folder)
    (site,) = (folder / "env" / "lib").glob("python*/site-packages")
    (penstock,) = distributions(name="penstock", path=[str(site)])
    link(closure(penstock, extras), site)
    own_home = folder / "home"
    own_home.mkdir()
    for name in ("jars", "java"):
        (home() / name).mkdir(parents=True, exist_ok=True)
        (own_home / name).symlink_to(home() / name)
    env = {"PATH": f"{python.parent}:/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "PENSTOCK_HOME": str(own_home)}
    return Installed(folder, env)
