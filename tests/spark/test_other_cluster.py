"""A standalone cluster of another Spark than the worker's: tasks wait, with one sentence that names both versions.

The other Sparks are those of ``make spark-matrix``.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from matrix.__main__ import FOLDER
from penstock.core.model.tasks import TaskWaiting
from penstock.spark.settings import HostSettings
from penstock.spark.versions import installed, release
from support.spark.cluster import SparkCluster
from support.spark.host import LOOPS, Hosted, id_of, make_spec

pytestmark = [pytest.mark.integration, pytest.mark.slow]

FACTS = """\
import pathlib, pyspark
from penstock.spark.java import spark_java
print(pathlib.Path(pyspark.__file__).parent, spark_java().home)
"""


@pytest.mark.parametrize(
    ("other", "named"), [("3.5", "a Spark with Scala 2.12, such as 3.5"), ("4.1", "Spark 4.1")], ids=["3.5", "4.1"]
)
def test_a_task_waits_for_a_cluster_of_its_own_spark(tmp_path: Path, other: str, named: str) -> None:
    """A master of 3.5 refuses the application; executors of 4.1 can't read its jobs."""
    python = FOLDER / other / "bin" / "python"
    if not python.exists() or other == release().name:
        pytest.skip(f"`make spark-matrix` has not installed Spark {other} on this machine")
    env = {key: value for key, value in os.environ.items() if key not in ("SPARK_HOME", "JAVA_HOME")}
    facts = subprocess.run([python, "-c", FACTS], env=env, capture_output=True, text=True, timeout=900, check=True)
    spark, java = map(Path, facts.stdout.split())
    with SparkCluster(tmp_path, workers=1, spark=spark, java_home=java) as cluster:
        conf = {
            "spark.master": cluster.url,
            "spark.cores.max": "1",
            "spark.executor.memory": "480m",
            "spark.executorEnv.PYTHONPATH": LOOPS,
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        }
        hosted = Hosted(HostSettings(spark=conf, advertised_host="127.0.0.1"))
        try:
            hosted.start()
            waiting = make_spec()
            hosted.run(waiting)
            reason = "Spark is starting"
            while "did not start: " not in reason:
                *_, event = hosted.events.until(TaskWaiting, id_of(waiting))
                reason = event.reason
        finally:
            hosted.close(20.0)
    assert f"The cluster {cluster.url} runs {named}, and the worker has Spark {installed().version}: " in reason
    assert f"`pip install 'pyspark=={other}.*'`" in reason
    assert f"or use a cluster of Spark {release().name}." in reason
