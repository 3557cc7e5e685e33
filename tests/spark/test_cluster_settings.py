"""Settings that an application gets by its cluster manager."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.spark import cluster
from penstock.spark.cluster import HOSTED_MIB as PROCESS
from penstock.spark.cluster import QUERY_MIB
from penstock.spark.releases import LOG_STORE

FORGET = "spark.executor.failuresValidityInterval"
FORGET_MASTERS = "spark.yarn.am.attemptFailuresValidityInterval"
OVERHEAD = "spark.executor.memoryOverhead"
CLASS = "spark.delta.logStore.class"
YARN, KUBERNETES = {"spark.master": "yarn"}, {"spark.master": "k8s://h:6443"}


@pytest.mark.parametrize("master", ["local[4]", "local-cluster[2,1,1024]", "spark://h:7077"])
def test_a_local_spark_and_a_standalone_cluster_need_no_settings(master: str) -> None:
    assert cluster.defaults({"spark.master": master}) == {}


def test_failures_of_executors_are_forgotten_after_an_hour() -> None:
    assert cluster.defaults(KUBERNETES)[FORGET] == "1h"
    assert FORGET_MASTERS not in cluster.defaults(KUBERNETES)
    assert [cluster.defaults(YARN)[key] for key in (FORGET, FORGET_MASTERS)] == ["1h", "1h"]


@pytest.mark.parametrize("key", [FORGET, "spark.yarn.executor.failuresValidityInterval"])
def test_an_interval_that_is_set_stays_under_its_old_name_too(key: str) -> None:
    assert FORGET not in cluster.defaults({**YARN, key: "2d"})
    assert FORGET not in cluster.defaults({**KUBERNETES, key: "2d"})


def test_an_interval_of_yarns_application_masters_stays() -> None:
    assert FORGET_MASTERS not in cluster.defaults({**YARN, FORGET_MASTERS: "2d"})


@pytest.mark.parametrize(
    ("given", "overhead"),
    [
        ({}, 384 + 2 * PROCESS),  # one slot, and the process that is forked
        ({"spark.executor.cores": "4"}, 384 + 5 * PROCESS),
        ({"spark.executor.cores": "4", "spark.task.cpus": "2"}, 384 + 3 * PROCESS),
        ({"spark.executor.memory": "10g"}, 1024 + 2 * PROCESS),
        ({"spark.executor.memory": "10240"}, 1024 + 2 * PROCESS),
        ({"spark.executor.memory": "10737418240b"}, 1024 + 2 * PROCESS),
        ({"spark.executor.memory": "10485760K"}, 1024 + 2 * PROCESS),
        ({"spark.executor.memory": "10gb", "spark.executor.minMemoryOverhead": "2g"}, 2048 + 2 * PROCESS),
    ],
)
def test_memory_of_python_processes_is_added_to_what_spark_adds_itself(given: dict[str, str], overhead: int) -> None:
    for manager in (YARN, KUBERNETES):
        assert cluster.defaults({**manager, **given})[OVERHEAD] == f"{overhead}m"


def test_processes_of_queries_get_more_memory() -> None:
    assert cluster.defaults(YARN, queries=True)[OVERHEAD] == f"{384 + 2 * QUERY_MIB}m"


@pytest.mark.parametrize(
    "key",
    [
        OVERHEAD,
        "spark.executor.memoryOverheadFactor",
        "spark.kubernetes.memoryOverheadFactor",
        "spark.yarn.executor.memoryOverhead",
        "spark.executor.pyspark.memory",
    ],
)
def test_memory_outside_of_java_that_is_set_stays(key: str) -> None:
    for manager in (YARN, KUBERNETES):
        assert OVERHEAD not in cluster.defaults({**manager, key: "1"})


@pytest.mark.parametrize("given", [{"spark.executor.memory": "much"}, {"spark.executor.cores": "two"}])
def test_settings_that_are_not_valid_are_left_to_spark(given: dict[str, str]) -> None:
    assert OVERHEAD not in cluster.defaults({**YARN, **given})


@pytest.mark.integration
@pytest.mark.slow
def test_executors_are_requested_with_them_unless_sparks_own_file_has_them(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(f"{FORGET} 3h\nspark.executor.cores 2\n")
    code = (
        f"conf = with_defaults({YARN}, queries=False)\n"
        "profiles = getattr(SparkContext._jvm.org.apache.spark.resource, 'ResourceProfile$')\n"
        "profile = getattr(profiles, 'MODULE$').getOrCreateDefaultProfile(conf._jconf)\n"
        f"print(conf.get('{FORGET}'), profile.executorResources().apply('memoryOverhead').amount())\n"
    )
    assert printed(code, tmp_path) == ["3h", str(384 + 3 * PROCESS)]


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.parametrize("key", [LOG_STORE, CLASS])
def test_queries_keep_the_log_store_of_delta_that_sparks_own_file_has(key: str, tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(f"{key} com.acme.Store\n")
    code = (
        "conf = with_defaults({'spark.master': 'local[1]'}, queries=True)\n"
        f"print(conf.get('{LOG_STORE}'), conf.get('spark.delta.logStore.class'))\n"
    )
    assert printed(code, tmp_path) == ["com.acme.Store" if each == key else "None" for each in (LOG_STORE, CLASS)]


def printed(code: str, folder: Path) -> list[str]:
    """Return the words that a program prints beside Spark's Java, whose own settings are in the folder."""
    begin = (
        "import os\n"
        "from penstock.spark.java import spark_java\n"
        "os.environ['JAVA_HOME'] = str(spark_java().home)\n"
        "from pyspark import SparkContext\n"
        "from penstock.spark.settings import with_defaults\n"
        "SparkContext._ensure_initialized()\n"
    )
    environment = {**os.environ, "SPARK_CONF_DIR": str(folder)}
    command = [sys.executable, "-c", begin + code]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout.split()
