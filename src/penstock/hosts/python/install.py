"""Installation of a plugin: its environment is built beside the others, and replaces the plugin's older one.

``uv`` builds it if there is one, else ``venv`` and the ``pip`` of this interpreter, or the environment's own, which
takes seconds to make. Nothing is fetched if there is a wheelhouse.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import penstock
from penstock.api.errors import ConnectError
from penstock.hosts.python.environment import LOCK, RETIRED, Environment, environments, sweep
from penstock.hosts.python.messages import DiscoverPlugins, ReportVersion
from penstock.hosts.python.process import PluginProcess

LOCKS = ("requirements.lock", "requirements.txt")
WHEELHOUSES = ("wheelhouse", "wheels")
_MIN_PYTHON = (3, 11)
_MIN_PIP = [22, 3]
"""The first pip with ``--python``."""


class InstallError(ConnectError):
    """A plugin can't be installed."""


@dataclass(frozen=True, slots=True)
class PluginSource:
    """A plugin to be installed: arguments of ``pip install``, in steps, and modules to be copied."""

    name: str
    version: str
    steps: tuple[tuple[str, ...], ...]
    """The last one installs the plugin itself."""
    wheels: Path | None = None
    """Take packages from this folder only."""
    uv_lock: Path | None = None
    modules: tuple[Path, ...] = ()


def source_of(path: Path) -> PluginSource:
    """Return what to install for a folder or a wheel. Raises InstallError."""
    path = path.resolve()
    if path.is_file() and path.suffix == ".whl":
        name, version = path.name.split("-")[:2]
        wheels = next((path.parent / each for each in WHEELHOUSES if (path.parent / each).is_dir()), None)
        return PluginSource(_normal(name), version, ((str(path),),), wheels)
    if not path.is_dir():
        raise InstallError(f"{path} is neither a wheel (.whl) nor a folder")
    wheels = next((path / each for each in WHEELHOUSES if (path / each).is_dir()), None)
    lock = next((path / each for each in LOCKS if (path / each).exists()), None)
    steps: list[tuple[str, ...]] = [] if lock is None else [("-r", str(lock))]
    project, uv_lock = path / "pyproject.toml", path / "uv.lock"
    if project.exists():
        about = _about(project)
        locked = lock is not None or uv_lock.exists()
        steps.append((str(path), "--no-deps") if locked else (str(path),))
        version = str(about.get("version", ""))
        return PluginSource(
            _normal(about.get("name", path.name)), version, tuple(steps), wheels, uv_lock if lock is None else None
        )
    own = sorted(path.glob("*.whl"))
    if own:
        return PluginSource(_normal(path.name), "", (*steps, tuple(map(str, own))), path)
    modules = tuple(sorted([*path.glob("*.py"), *(each.parent for each in path.glob("*/__init__.py"))]))
    if not modules:
        wanted = f"a pyproject.toml, modules or packages, wheels; with them {' or '.join(LOCKS)}, {WHEELHOUSES[0]}/"
        raise InstallError(f"There is no plugin in {path}: wanted are {wanted}")
    return PluginSource(_normal(path.name), "", tuple(steps), wheels, modules=modules)


def _about(project: Path) -> dict[str, Any]:
    """The table ``project``. Raises InstallError."""
    try:
        about: dict[str, Any] = tomllib.loads(project.read_text("utf-8")).get("project", {})
    except (OSError, ValueError) as error:
        raise InstallError(f"{project} can't be read: {error}") from error
    return about


def _normal(name: str) -> str:
    """Return a name as PyPI compares names: a wheel and the project it was built from are the same plugin."""
    return re.sub(r"[-_.]+", "-", name).lower()


def install(path: Path, into: Path, python: str | None = None) -> Environment:
    """Build the environment and replace the plugin's older one. Raises InstallError, with nothing left behind."""
    source = source_of(path)
    try:
        into.mkdir(parents=True, exist_ok=True)
        sweep(into)
        folder = into.resolve() / f"{source.name}-{secrets.token_hex(4)}"
        folder.mkdir()
    except OSError as error:
        raise InstallError(
            f"{into} can't be written: {error.strerror}; name another folder of the worker's plugin.path"
        ) from error
    with _building(folder):
        tools = _Tools.of(folder, python)
        tools.create()
        _provide_penstock(tools)
        if source.uv_lock is not None and source.uv_lock.exists():
            tools.install_locked(source.uv_lock.parent, source.wheels)
        for step in source.steps:
            tools.install(step, source.wheels)
        for module in source.modules:
            copy = tools.site / module.name
            shutil.copytree(module, copy) if module.is_dir() else shutil.copy(module, copy)
        modules = [module.stem for module in source.modules]
        process = PluginProcess(folder, f"plugin {source.name}")
        try:
            version = process.call(ReportVersion())
            connectors, left_out = process.call(DiscoverPlugins(modules))
        finally:
            process.close()
        if not connectors:
            raise InstallError(
                f"{path} has no connector to install. {' '.join(left_out)}".strip()
                + ("" if left_out else "; its entry points of group penstock.plugins name the classes")
            )
        made = Environment(folder, source.name, source.version, version, tuple(connectors), tuple(left_out))
        made.write()
    for other in environments([str(into)]):
        if other.name == made.name and other.folder != made.folder:
            other.retire()
    sweep(into)
    return made


@contextmanager
def _building(folder: Path) -> Iterator[None]:
    """Let the folder count as removed, but in use, until the installation is finished."""
    (folder / LOCK).touch()
    lock = os.open(folder / LOCK, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH)
        (folder / RETIRED).write_text("{}", "utf-8")
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        os.close(lock)


def _provide_penstock(tools: _Tools) -> None:
    """Mark Penstock as installed: when the plugin runs, that of the worker is there, without its packages."""
    said = tools.site / f"penstock-{penstock.__version__}.dist-info"
    said.mkdir()
    (said / "METADATA").write_text(f"Metadata-Version: 2.1\nName: penstock\nVersion: {penstock.__version__}\n", "utf-8")
    (said / "INSTALLER").write_text("penstock\n", "utf-8")
    (said / "RECORD").write_text("", "utf-8")


@dataclass(frozen=True, slots=True)
class _Tools:
    """The tools that build an environment: ``uv``, or ``venv`` and ``pip``."""

    folder: Path
    uv: str | None
    base: str
    """The interpreter that the environment is of."""
    lent: bool
    """True if the pip of this interpreter is used, and the environment has none."""

    @classmethod
    def of(cls, folder: Path, python: str | None) -> _Tools:
        base = python or sys.executable
        return cls(folder, shutil.which("uv"), base, base == sys.executable and _has_pip())

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    @property
    def site(self) -> Path:
        asked = [self.python, "-I", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
        return Path(_run(asked, "find the environment's packages").strip())

    def create(self) -> None:
        if self.uv:
            made = [self.uv, "venv", "-q", "--allow-existing", "--python", self.base]
        else:
            made = [self.base, "-m", "venv", *(["--without-pip"] if self.lent else [])]
        _run([*made, str(self.folder)], "make the environment")
        asked = [self.python, "-I", "-c", "import sys; print(*sys.version_info[:2])"]
        version = tuple(map(int, _run(asked, "ask for the version of Python").split()))
        if version < _MIN_PYTHON:
            raise InstallError(f"Python {'.'.join(map(str, version))} is too old: plugins need 3.11 or newer")

    def install(self, wanted: Sequence[str], wheels: Path | None) -> None:
        only = [] if wheels is None else ["--no-index", "--find-links", str(wheels)]
        if self.uv:
            command = [self.uv, "pip", "install", "-q", "--python", self.python]
        else:
            pip = [self.base, "-m", "pip", "--python", self.python] if self.lent else [self.python, "-m", "pip"]
            command = [*pip, "install", "-q", "--disable-pip-version-check"]
        _run([*command, *only, *wanted], f"install {' '.join(wanted)}")

    def install_locked(self, project: Path, wheels: Path | None) -> None:
        if not self.uv:
            raise InstallError(f"{project} has a uv.lock, which needs uv; or write a requirements.lock")
        with tempfile.TemporaryDirectory() as place:
            asked = [self.uv, "export", "-q", "--frozen", "--no-dev", "--no-hashes", "--no-emit-project"]
            exported = Path(place, "requirements.txt")
            no_penstock = ["--no-emit-package", "penstock", "--project", str(project), "-o", str(exported)]
            _run([*asked, *no_penstock], f"read {project / 'uv.lock'}")
            self.install(("-r", str(exported)), wheels)


def _has_pip() -> bool:
    """Return whether this interpreter has a pip that installs for another one (``--python``)."""
    try:
        numbers = re.findall(r"\d+", metadata.version("pip"))
    except metadata.PackageNotFoundError:
        return False
    return [*map(int, numbers[:2])] >= _MIN_PIP


def _run(command: Sequence[str], what: str) -> str:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environ)
    except OSError as error:
        raise InstallError(f"Could not {what}: {command[0]} does not run ({error.strerror})") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise InstallError(f"Could not {what}: {said or f'exit status {done.returncode}'}")
    return done.stdout
