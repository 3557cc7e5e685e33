from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.spark import daemon, task_exit
from penstock.spark.daemon import PLUGIN_PATH

pytestmark = pytest.mark.slow


@contextmanager
def forking(plugins: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start the process from which tasks are forked, as Spark does, and wait until it is ready."""
    with subprocess.Popen(
        [sys.executable, "-m", "penstock.spark.daemon", "pyspark.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {PLUGIN_PATH: str(plugins), "PYTHONUNBUFFERED": "YES"},  # as Spark sets it
    ) as process:
        assert process.stdout is not None
        port = process.stdout.read(4)
        assert len(port) == 4, process.stderr and process.stderr.read().decode()
        assert 0 < int.from_bytes(port, "big") < 1 << 16, f"this is not a port: {port!r}"
        yield process
        assert process.stdin is not None
        process.stdin.close()


def threads(process: subprocess.Popen[bytes]) -> int:
    return len(os.listdir(f"/proc/{process.pid}/task"))


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """Plugins write here where they were imported."""
    return tmp_path / "told"


def plugin(folder: Path, code: str) -> Path:
    folder.mkdir()
    (folder / "sample_plugin.py").write_text(code)
    return folder


def test_plugins_are_imported_before_tasks_are_forked(tmp_path: Path, told: Path) -> None:
    folder = plugin(tmp_path / "plugins", f"import os\nopen({str(told)!r}, 'a').write(f'{{os.getpid()}} ')\n")
    with forking(folder) as process:
        assert told.read_text().split() == [str(process.pid)]
        assert threads(process) == 1


def test_a_plugin_that_starts_a_thread_is_left_to_the_tasks(tmp_path: Path) -> None:
    code = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    with forking(plugin(tmp_path / "plugins", code)) as process:
        assert threads(process) == 1
    assert process.stderr is not None


@pytest.mark.parametrize(
    "prints", ["print('loaded')", "import os; os.write(1, b'loaded')", "import os; os.system('echo loaded')"]
)
def test_what_plugins_print_when_they_are_imported_does_not_reach_java(tmp_path: Path, prints: str) -> None:
    with forking(plugin(tmp_path / "plugins", prints)) as process:
        assert process.poll() is None


def test_zipped_copies_of_the_installed_pyspark_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyspark

    installed = Path(pyspark.__file__).parent
    ours = [str(installed / "python" / "lib" / "pyspark.zip"), str(installed / "jars" / "spark-core_2.13-4.2.0.jar")]
    monkeypatch.setattr(sys, "path", ours + sys.path)
    daemon.prefer_installed_pyspark()
    assert not set(ours) & set(sys.path)


def test_another_clusters_pyspark_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/opt/spark/python/lib/pyspark.zip", *sys.path])
    daemon.prefer_installed_pyspark()
    assert sys.path[0] == "/opt/spark/python/lib/pyspark.zip"


def test_the_exit_statuses_of_a_worker_that_was_killed_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (abandoned := tmp_path / "abandoned").mkdir()
    (abandoned / "7").write_text("256")
    monkeypatch.setenv(task_exit.FOLDER, str(abandoned))
    with forking(tmp_path):
        assert abandoned.exists()
    assert not abandoned.exists()
