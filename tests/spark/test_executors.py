"""A standalone cluster whose executors lack something that tasks need: each says in one sentence what, and how to get
it, and those that need it not run.
"""

from __future__ import annotations

import re
import site
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import penstock
from penstock.core.model.tasks import SparkDied, SparkReady, TaskRunning, TaskWaiting
from penstock.pipeline.task import TaskSpec
from penstock.spark.driver.check import UnfitError, explained, unfit_executors
from penstock.spark.java import spark_java
from penstock.spark.settings import HostSettings
from support.spark.class_data import EXECUTORS_JAVA, java_options
from support.spark.cluster import SparkCluster
from support.spark.host import LOOPS, Hosted, id_of, make_spec
from support.spark.queries import sample_spec

pytestmark = [pytest.mark.integration, pytest.mark.slow]

OURS = "{}.{}".format(*sys.version_info)
GET = rf"set `spark\.pyspark\.python` \(it is .*\) to a Python {OURS} that has Penstock .* on each executor"


@pytest.mark.parametrize(
    "text",
    [
        'Cannot run program "x/python": error=2, No such file',
        'Cannot run program "x/python": Exec failed, error: 2 (No such file)',
    ],
)
def test_messages_of_all_javas_about_a_missing_program_are_explained(text: str) -> None:
    conf = {"spark.pyspark.python": "x/python"}
    assert str(explained(f"java.io.IOException: {text}\n\tat a.b(c)", conf)).startswith(
        "The executors can't run x/python (No such file): set "
    )


def test_a_program_that_a_plugin_misses_is_not_taken_for_the_executors_python() -> None:
    text = 'penstock.spark.task.TaskFailedError: java.io.IOException: Cannot run program "tap": error=2, No such file'
    assert explained(text, {"spark.pyspark.python": "x/python"}) is None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("executors")


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[SparkCluster]:
    """One whose Java takes away an option that Spark gives it."""
    with SparkCluster(folder, workers=1, cores=2, java_home=java_without_option(folder)) as cluster:
        yield cluster


def java_without_option(folder: Path) -> Path:
    """A home of Java whose ``java`` leaves out the option that opens Java's buffers."""
    home = folder / "java"
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text(
        "#!/bin/bash\nkept=()\n"
        'for each in "$@"; do case "$each" in *java.base/java.nio=*) ;; *) kept+=("$each") ;; esac; done\n'
        f'exec {spark_java().home}/bin/java "${{kept[@]}}"\n'
    )
    program.chmod(0o755)
    return home


def python_without(folder: Path, *packages: str) -> Path:
    """A Python that has all packages of this one but these."""
    packages_folder = folder / f"lib/python{OURS}/site-packages"
    packages_folder.mkdir(parents=True)
    for each in Path(site.getsitepackages()[0]).iterdir():
        if each.name.partition("-")[0] not in packages:
            (packages_folder / each.name).symlink_to(each)
    (folder / "pyvenv.cfg").write_text(f"home = {Path(sys.base_prefix, 'bin')}\n")
    program = folder / "bin" / "python"
    program.parent.mkdir()
    program.symlink_to(Path(sys.executable).resolve())
    return program


def python_of_another_version(folder: Path) -> Path:
    """A Python that says it is 3.9."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("import sys\nsys.version_info = (3, 9, 0, 'final', 0)\n")
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={folder}:"$PYTHONPATH" exec {sys.executable} "$@"\n')
    program.chmod(0o755)
    return program


def test_tasks_run_while_only_some_executors_have_another_penstock(caplog: pytest.LogCaptureFixture) -> None:
    def found(host: str, version: str) -> dict[str, str]:
        return {"host": host, "python": "python3", "penstock": version, "spark": "4.2.0"}

    conf = {"spark.pyspark.python": "python3"}
    (unfit,) = unfit_executors([found("one", penstock.__version__), found("two", "0.0.1")], "4.2.1", conf)
    assert unfit.startswith("The executors' Python (python3 on two) has Penstock 0.0.1")
    assert f"Tasks may fail on some executors. {unfit}" in caplog.text
    with pytest.raises(UnfitError, match=r"on one\) has Penstock 0\.0\.1"):
        unfit_executors([found("one", "0.0.1"), found("two", "0.0.1")], "4.2.1", conf)


@pytest.fixture
def hosted(cluster: SparkCluster) -> Iterator[Callable[..., Hosted]]:
    """Starts a worker's Sparks with more settings."""
    made = []

    def start(**more: str) -> Hosted:
        spark = {
            "spark.master": cluster.url,
            "spark.cores.max": "1",
            "spark.executor.memory": "480m",
            "spark.executorEnv.PYTHONPATH": LOOPS,
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            EXECUTORS_JAVA: java_options(),
        }
        one = Hosted(HostSettings(spark={**spark, **more}, advertised_host="127.0.0.1"))
        made.append(one)
        one.start()
        return one

    yield start
    for each in made:
        each.close(20.0)


def query() -> TaskSpec:
    """One that never gets so far that it needs a broker."""
    config = {"topics": "none", "format": "noop"}
    return sample_spec("penstock.connectors.spark.connectors:SparkSinkTask", config)


def assert_waits(hosted: Hosted, spec: TaskSpec, reason: str) -> None:
    """Assert that the task waits for this reason."""
    *_, waiting = hosted.events.until(TaskWaiting, id_of(spec))
    while not re.search("did not start: ", waiting.reason):
        *_, waiting = hosted.events.until(TaskWaiting, id_of(spec))
    assert re.search(reason, waiting.reason), waiting.reason


def test_executors_whose_python_lacks_pyarrow_run_hosted_tasks_and_no_queries(
    hosted: Callable[..., Hosted], tmp_path: Path
) -> None:
    python = python_without(tmp_path / "python", "pyarrow")
    worker = hosted(**{"spark.pyspark.python": str(python)})
    ticking, asking = make_spec(), query()
    worker.run(ticking)
    worker.events.until(TaskRunning, id_of(ticking))
    worker.run(asking)
    found = rf"The executors' Python \({python}\) has no module pyarrow, which queries need"
    get = rf"`pip install penstock=={penstock.__version__}` there installs it, or {GET}"
    assert_waits(worker, asking, rf"The Spark application of queries: Spark did not start: {found}: {get}")
    assert worker.events.so_far(id_of(ticking)) == []


def test_executors_with_another_python_are_named_with_both_versions(
    hosted: Callable[..., Hosted], tmp_path: Path
) -> None:
    python = python_of_another_version(tmp_path / "python")
    worker, ticking = hosted(**{"spark.pyspark.python": str(python)}), make_spec()
    worker.run(ticking)
    found = rf"The executors' Python \(.*\) is 3\.9, and the worker's is {OURS}"
    need = "Spark needs the same minor version in both"
    assert_waits(worker, ticking, rf"{found}: {need}; {GET}.*, or start the worker with Python 3\.9\.")


def test_executors_whose_python_lacks_penstock_are_named(hosted: Callable[..., Hosted], tmp_path: Path) -> None:
    python = python_without(tmp_path / "python", "_editable_impl_penstock.pth", "penstock", "penstock.pth")
    worker, ticking = hosted(**{"spark.pyspark.python": str(python), "spark.executorEnv.PYTHONPATH": ""}), make_spec()
    worker.run(ticking)
    assert_waits(worker, ticking, rf"The executors' Python \({python}\) has no Penstock: {GET}")


def test_a_python_that_executors_do_not_have_is_named(hosted: Callable[..., Hosted], tmp_path: Path) -> None:
    python = tmp_path / "no" / "python"
    worker, ticking = hosted(**{"spark.pyspark.python": str(python)}), make_spec()
    worker.run(ticking)
    assert_waits(worker, ticking, rf"The executors can't run {python} \(No such file or directory\): {GET}")


def test_executors_whose_java_lacks_an_option_run_hosted_tasks_and_no_queries(hosted: Callable[..., Hosted]) -> None:
    worker, ticking, asking = hosted(), make_spec(), query()
    worker.run(ticking)
    worker.events.until(TaskRunning, id_of(ticking))
    worker.run(asking)
    option = "--add-opens=java.base/java.nio=ALL-UNNAMED"
    found = rf"The executors' Java {spark_java().version} runs without `{option}`, which Arrow needs"
    assert_waits(worker, asking, rf"{found}.*: use a `java` that .*, or add it to `spark\.executor\.extraJavaOptions`")


def test_a_java_of_a_local_spark_that_lacks_an_option_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(folder / "java" if (folder / "java").exists() else java_without_option(folder)))
    spark_java.cache_clear()
    worker = Hosted(HostSettings())
    try:
        worker.start()
        worker.events.until(SparkReady)
        asking = query()
        worker.run(asking)
        assert_waits(
            worker, asking, r"Spark's Java .* in .* runs without `--add-opens.*`.*`spark\.driver\.extraJavaOptions`"
        )
        assert isinstance(worker.events.until(SparkDied)[0], SparkDied)
    finally:
        worker.close(20.0)
        spark_java.cache_clear()
