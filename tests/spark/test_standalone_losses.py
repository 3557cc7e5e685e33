"""Losses on a standalone Spark cluster: an executor, a worker or the application is killed, or a worker is
decommissioned. The task there is lost, its process ends before its lease does, and it runs again on the rest of the
cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import psutil
import pytest

from penstock.core.model.tasks import SparkDied, SparkReady, TaskEnded, TaskLost, TaskRunning
from penstock.pipeline.task import TaskSpec
from penstock.spark.run import reports
from penstock.spark.settings import HostSettings
from support.process_tree import alive, command
from support.spark.class_data import EXECUTORS_JAVA, java_options
from support.spark.cluster import SparkCluster
from support.spark.host import LOOPS, Hosted, id_of

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    folder = tmp_path_factory.mktemp("cluster")
    with SparkCluster(folder, workers=2, cores=2, java="-Dspark.decommission.enabled=true") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def hosted(cluster: SparkCluster) -> Iterator[Hosted]:
    spark = {
        "spark.master": cluster.url,
        "spark.cores.max": "2",
        "spark.executor.cores": "1",
        "spark.executor.memory": "480m",
        "spark.decommission.enabled": "true",
        "spark.executorEnv.PYTHONPATH": LOOPS,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        EXECUTORS_JAVA: java_options(),
    }
    hosted = Hosted(HostSettings(spark=spark, lease=6.0, advertised_host="127.0.0.1"))
    hosted.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reports, "SETTLING", 60.0)  # an executor's end is reported through several processes
            hosted.events.until(SparkReady)
            yield hosted
    finally:
        hosted.close(20.0)


def run(hosted: Hosted, spec: TaskSpec) -> psutil.Process:
    """Start the task and return its process when it runs."""
    hosted.run(spec)
    hosted.events.until(TaskRunning, id_of(spec))
    return psutil.Process(hosted.runs[id_of(spec)]._admitted.result().who.pid)


def lost(hosted: Hosted, spec: TaskSpec, process: psutil.Process) -> TaskLost:
    """Wait until the task is lost, check that its process has ended, and return the event."""
    *_, lost, _ = hosted.events.until(TaskEnded, id_of(spec))
    assert isinstance(lost, TaskLost)
    assert not lost.died
    assert not alive(process)
    return lost


def executor_of(process: psutil.Process) -> psutil.Process:
    return next(each for each in process.parents() if "CoarseGrainedExecutorBackend" in command(each))


def test_a_task_whose_executor_is_killed_runs_again(hosted: Hosted, spec: Callable[..., TaskSpec]) -> None:
    one, other = spec(), spec()
    process, bystander = run(hosted, one), run(hosted, other)
    executor_of(process).kill()
    assert "ended with its executor" in lost(hosted, one, process).reason
    run(hosted, replace(one, run=2))
    # The task on the other executor was not affected.
    assert alive(bystander)
    assert hosted.events.so_far(id_of(other)) == []
    stop(hosted, one, other)


def test_a_task_of_a_spark_worker_that_is_killed_runs_again_on_another(
    hosted: Hosted, cluster: SparkCluster, spec: Callable[..., TaskSpec]
) -> None:
    one = spec()
    process = run(hosted, one)
    worker = cluster.worker_of(process)
    cluster.kill(worker)
    lost(hosted, one, process)
    assert cluster.worker_of(run(hosted, replace(one, run=2))) != worker
    stop(hosted, one)


def test_a_task_of_a_decommissioned_spark_worker_runs_again_on_another(
    hosted: Hosted, cluster: SparkCluster, spec: Callable[..., TaskSpec]
) -> None:
    cluster.add_workers(1)
    one = spec()
    process = run(hosted, one)
    worker = cluster.worker_of(process)
    cluster.decommission(worker)
    # Its running tasks continue until they end.
    assert alive(process)
    cluster.kill(worker)
    lost(hosted, one, process)
    assert cluster.worker_of(run(hosted, replace(one, run=2))) != worker
    stop(hosted, one)


def test_the_tasks_of_an_application_that_is_killed_run_again_in_another(
    hosted: Hosted, cluster: SparkCluster, spec: Callable[..., TaskSpec]
) -> None:
    """Spark's JVM goes on without an application."""
    one = spec()
    process, driver = run(hosted, one), hosted.driver.process_id
    cluster.kill_applications()
    lost(hosted, one, process)
    died = hosted.events.until(SparkDied)[-1]
    assert isinstance(died, SparkDied)
    assert "has stopped the application" in died.reason
    hosted.events.until(SparkReady)
    assert hosted.driver.process_id != driver
    run(hosted, replace(one, run=2))
    stop(hosted, one)


def stop(hosted: Hosted, *specs: TaskSpec) -> None:
    for each in specs:
        hosted.stop(id_of(each))
        hosted.events.until(TaskEnded, id_of(each))
