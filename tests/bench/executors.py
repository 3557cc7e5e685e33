"""``spark-source`` on a standalone cluster of Spark on this machine: with one executor of one core, and with two.

Both sides use the whole cluster in turn; each run of SparkSource has a new worker.
"""

from __future__ import annotations

from bench import spark_source
from bench.connect import Connect
from bench.setting import Setting
from support.spark.cluster import SparkCluster
from support.worker_process import SPARKS_JAVA, WorkerProcess

EXECUTORS = (1, 2)

Figures = dict[str, float]


def by_connector(_: Connect, setting: Setting) -> Figures:
    return {figure(count): _by_connector(setting, count)["records/s"] for count in EXECUTORS}


def by_program(setting: Setting) -> Figures:
    url = _spark(setting).url
    return {figure(count): spark_source.copy_plainly(setting, url, count)["records/s"] for count in EXECUTORS}


def figure(count: int) -> str:
    return f"records/s, {count} executor{'s' if count > 1 else ''}"


def _by_connector(setting: Setting, count: int) -> Figures:
    queries = {
        "penstock.query.spark.master": _spark(setting).url,
        "penstock.query.spark.cores.max": str(count),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "rest.advertised.host.name": "127.0.0.1",
        "exactly.once.source.support": "disabled",
        SPARKS_JAVA: "",
    }
    with WorkerProcess(setting.bootstrap, setting.folder, **queries) as worker:
        cluster = Connect("penstock", str(worker.http.base_url))
        try:
            return spark_source.copy(cluster, setting)
        finally:
            cluster.close()
            topics = [worker.settings[f"{kind}.storage.topic"] for kind in ("config", "offset", "status")]
            setting.at_end(lambda: setting.delete_topics(*topics))


def _spark(setting: Setting) -> SparkCluster:
    def start() -> SparkCluster:
        cluster = SparkCluster(setting.folder, workers=max(EXECUTORS))
        cluster.__enter__()
        setting.at_end(lambda: cluster.__exit__())
        return cluster

    found: SparkCluster = setting.resource("cluster of Spark", start)
    return found
