"""``penstock plugins install|list|remove`` with real environments, offline."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hosts.python.plugins import SINK, SOURCE, sink_wheel, source_wheel, wheel, wheelhouse
from penstock.api.errors import ConnectError
from penstock.cli import app
from penstock.hosts.errors import HostLost
from penstock.hosts.jvm.plugins.locations import java_locations
from penstock.hosts.python.environment import LOCK, environments, exclusive, sweep
from penstock.hosts.python.install import InstallError, install
from penstock.hosts.python.messages import CallDefinition, ReadDefinition, ReportVersion
from penstock.hosts.python.process import PluginProcess
from penstock.plugins import Plugins

pytestmark = pytest.mark.slow


def test_install_update_and_remove_are_seen_without_a_restart(tmp_path: Path) -> None:
    folder = tmp_path / "plugins"
    plugins = Plugins.discover([str(folder)])
    assert versions(plugins) == {}

    made = install(source_wheel(tmp_path / "1"), folder)
    assert versions(plugins) == {"one_source.Source": "1.0"}
    process = PluginProcess(made.folder, "test")
    assert process.call(ReportVersion()) == made.python
    install(source_wheel(tmp_path / "2", "1.1", major=2), folder)
    assert versions(plugins) == {"one_source.Source": "1.1"}
    assert made.folder.exists(), "a process runs in it"
    process.close()

    done = CliRunner().invoke(app, ["plugins", "remove", "one-source", "--plugin-path", str(folder)])
    assert done.exit_code == 0, done.output
    assert versions(plugins) == {}
    assert list(folder.iterdir()) == [], "nothing is left"


def test_a_task_whose_environment_has_been_replaced_starts_again(tmp_path: Path) -> None:
    """Its worker gives it the place of the newer one then."""
    folder = tmp_path / "plugins"
    old = install(source_wheel(tmp_path / "1"), folder).folder
    new = install(source_wheel(tmp_path / "2", "1.1", major=2), folder).folder
    assert [each.folder for each in environments([str(folder)])] == [new]
    with pytest.raises(HostLost, match="where there is another one of the plugin") as raised:
        PluginProcess(old, "task n-0", with_parent=True)
    assert raised.value.by_itself, "it does not start again for ever"
    with pytest.raises(ConnectError, match="another one of the plugin: restart the connector"):
        PluginProcess(old, "connector n")


def test_a_process_that_starts_while_its_environment_is_deleted_ends(tmp_path: Path) -> None:
    made = install(source_wheel(tmp_path / "1"), tmp_path / "plugins")
    with exclusive(made.folder) as free:
        assert free
        process = PluginProcess(made.folder, "task n-0", with_parent=True)
        shutil.rmtree(made.folder)
    with pytest.raises(ConnectError, match="is not on this machine"):
        process.call(ReportVersion())
    process.close()


def test_a_removed_environment_stays_if_it_can_not_be_locked(tmp_path: Path) -> None:
    made = install(source_wheel(tmp_path / "1"), tmp_path / "plugins")
    made.retire()
    (made.folder / LOCK).unlink()
    (made.folder / LOCK).mkdir()
    assert sweep(tmp_path / "plugins") == [made.folder]
    (made.folder / LOCK).rmdir()
    assert sweep(tmp_path / "plugins") == []


def test_the_commands(tmp_path: Path) -> None:
    folder = tmp_path / "plugins"
    options = ["--plugin-path", str(folder)]
    done = CliRunner().invoke(app, ["plugins", "install", str(sink_wheel(tmp_path / "in")), *options])
    assert done.exit_code == 0, done.output
    assert "two_sink.Sink 2.0 is installed" in done.output
    assert "two_sink.Upper is left out: transforms can't have an environment of their own" in done.output
    listed = CliRunner().invoke(app, ["plugins", "list", *options]).output
    assert listed.split()[:4] == ["two-sink", "two_sink.Sink", "2.0", "sink"]
    (shown,) = json.loads(CliRunner().invoke(app, ["plugins", "list", *options, "-o", "json"]).output)
    assert (shown["plugin"], shown["class"], shown["kind"]) == ("two-sink", "two_sink.Sink", "sink")
    assert CliRunner().invoke(app, ["plugins", "list", *options, "-o", "name"]).output == "two-sink\n"
    for wrong, at, says in (
        ("plugins.zip", options, "ends in .tar.gz"),
        ("no-folder/x.tar.gz", options, "there is no such folder"),
        ("x.tar.gz", ["--plugin-path", str(tmp_path / "in")], "there are no plugins in"),
    ):
        refused = CliRunner().invoke(app, ["plugins", "pack", wrong, *at], env={"COLUMNS": "300"})
        assert refused.exit_code == 2
        assert says in refused.output
    refused = CliRunner().invoke(app, ["plugins", "remove", "three", *options], env={"COLUMNS": "300"})
    assert refused.exit_code == 2
    assert "there are two-sink" in refused.output


def test_a_folder_of_modules_with_a_lock(tmp_path: Path) -> None:
    wheelhouse(tmp_path / "own" / "wheelhouse")
    (tmp_path / "own" / "one_source.py").write_text(SOURCE.replace("VERSION", "3"))
    (tmp_path / "own" / "requirements.lock").write_text("wire-format==2.0\n")
    made = install(tmp_path / "own", tmp_path / "plugins")
    assert [each["class"] for each in made.connectors] == ["one_source.Source"]
    process = PluginProcess(made.folder, "test")
    with pytest.raises(Exception, match="wire_format 2"):
        process.call(CallDefinition("one_source:Source", *even_check(process), "__call__"), "count", 3)
    process.close()


def even_check(process: PluginProcess) -> list[int]:
    process.call(ReadDefinition("one_source:Source"))
    return [0]


PROJECT = """
[project]
name = "own-source"
version = "4.0"
dependencies = ["wire-format"]
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
BACKEND = """
import shutil

def build_wheel(folder, config_settings=None, metadata_directory=None):
    return shutil.copy("built/own_source-4.0-py3-none-any.whl", folder).rpartition("/")[2]
"""


def test_a_project_with_a_lock(tmp_path: Path) -> None:
    """The lock counts, and not what the project says of its dependencies."""
    own = tmp_path / "own"
    wheelhouse(own / "wheelhouse")
    (own / "requirements.lock").write_text("wire-format==1.0\n")
    (own / "pyproject.toml").write_text(PROJECT)
    (own / "backend.py").write_text(BACKEND)
    files = {"own_source.py": SOURCE.replace("VERSION", "4")}
    wheel(own / "built", "own-source", "4.0", files, ["wire-format"], {"source": "own_source"})
    made = install(own, tmp_path / "plugins")
    assert (made.name, made.version) == ("own-source", "4.0")
    assert [each["class"] for each in made.connectors] == ["own_source.Source"]
    asked = [str(made.folder / "bin" / "python"), "-I", "-c", "import wire_format; print(wire_format.MAJOR)"]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout == "1\n"


@pytest.mark.skipif(shutil.which("uv") is None, reason="uv.lock needs uv")
def test_a_project_with_the_lock_of_uv(tmp_path: Path) -> None:
    own = tmp_path / "own"
    wheelhouse(own / "wheelhouse")
    (own / "pyproject.toml").write_text(PROJECT.replace("[build", 'requires-python = ">=3.11"\n[build'))
    (own / "backend.py").write_text(BACKEND)
    wheel(own / "built", "own-source", "4.0", {"own_source.py": SOURCE}, ["wire-format"], {"source": "own_source"})
    locked = ["uv", "lock", "-q", "--no-index", "--find-links", "wheelhouse"]
    subprocess.run([*locked, "--upgrade-package", "wire-format<2", "--python", sys.executable], cwd=own, check=True)
    made = install(own, tmp_path / "plugins")
    asked = [str(made.folder / "bin" / "python"), "-I", "-c", "import wire_format; print(wire_format.MAJOR)"]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout == "1\n"


def test_a_folder_of_wheels(tmp_path: Path) -> None:
    folder = wheelhouse(tmp_path / "all")
    (folder / "wire_format-1.0-py3-none-any.whl").unlink()
    wheel(folder, "two-sink", "2.0", {"two_sink.py": SINK.replace("VERSION", "2")}, entry_points={"a": "two_sink"})
    made = install(folder, tmp_path / "plugins")
    assert [each["version"] for each in made.connectors] == ["2"]


def test_a_plugin_without_connectors_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InstallError, match="entry points of group penstock"):
        install(wheel(tmp_path, "nothing", "1", {"nothing.py": ""}), tmp_path / "plugins")
    broken = wheel(tmp_path, "broken", "1", {"broken.py": "1 / 0"}, entry_points={"a": "broken"})
    with pytest.raises(InstallError, match="ZeroDivisionError"):
        install(broken, tmp_path / "plugins")
    with pytest.raises(InstallError, match="neither a wheel"):
        install(tmp_path / "absent", tmp_path / "plugins")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InstallError, match=r"wanted are a pyproject\.toml"):
        install(tmp_path / "empty", tmp_path / "plugins")


def test_mistakes_of_users_are_explained(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "pyproject.toml").write_text("[project")
    with pytest.raises(InstallError, match=r"broken/pyproject\.toml can't be read: Expected"):
        install(tmp_path / "broken", tmp_path / "plugins")
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "one.py").touch()
    (tmp_path / "file").touch()
    with pytest.raises(InstallError, match="file/plugins can't be written: Not a directory; name another folder"):
        install(tmp_path / "one", tmp_path / "file" / "plugins")
    with pytest.raises(InstallError, match="Could not make the environment"):
        install(tmp_path / "one", tmp_path / "plugins", "no-such-python")
    assert list((tmp_path / "plugins").iterdir()) == []


def test_unresolvable_requirements_are_refused(tmp_path: Path) -> None:
    made = source_wheel(tmp_path, major=3)
    with pytest.raises(InstallError, match="wire-format"):
        install(made, tmp_path / "plugins")
    assert list((tmp_path / "plugins").iterdir()) == [], "a failed installation leaves nothing"


def test_without_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the pip of this interpreter; an environment of another one gets a pip of its own."""
    monkeypatch.setenv("PATH", os.pathsep.join(p for p in os.environ["PATH"].split(":") if not Path(p, "uv").exists()))
    assert shutil.which("uv") is None
    wheel = source_wheel(tmp_path / "in")
    another = next(str(each) for each in Path(sys.executable).parent.glob("python3*") if str(each) != sys.executable)
    for python, has_pip in ((None, False), (another, True)):
        made = install(wheel, tmp_path / "plugins", python)
        assert [each["class"] for each in made.connectors] == ["one_source.Source"]
        assert (made.folder / "bin" / "pip").exists() == has_pip


def test_nothing_of_the_worker_is_there_but_penstock(installed: Path) -> None:
    (one,) = (each for each in environments([str(installed)]) if each.name == "one-source")
    asked = [str(one.folder / "bin" / "python"), "-I", "-c", "import orjson"]
    assert "No module named 'orjson'" in subprocess.run(asked, capture_output=True, text=True, check=False).stderr
    assert sys.version.split()[0] == one.python
    (one.folder / "lib" / "some.jar").write_bytes(b"")
    assert java_locations([str(installed)]) == [], "jars in its packages are not Java plugins"


def versions(plugins: Plugins) -> dict[str, str]:
    return {each["class"]: each["version"] for each in plugins.listing() if each["class"].startswith("one_source")}
