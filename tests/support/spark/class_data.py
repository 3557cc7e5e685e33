"""An archive of the classes of Spark's Java, so that the many Sparks of tests need not read and verify each of them.

``python -m support.spark.class_data`` makes that of the Java in use if there is none, by a Spark that does once what
queries do; and those of the embedded broker and of the JVMs of plugins, which Penstock itself uses. A Java that can't
make such an archive leaves the file empty.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from penstock.embedded import broker_class_data
from penstock.embedded.home import EmbeddedError
from penstock.hosts.jvm import class_data as host_class_data
from penstock.spark.driver import class_data
from support.worker_process import QUICK_JAVA

FOLDER = Path(__file__).parents[3] / "build"
EXECUTORS_JAVA = "spark.executor.extraJavaOptions"
FEW_COLLECTIONS = "-XX:NewSize=40m -XX:MetaspaceSize=256m -XX:ReservedCodeCacheSize=240m"
"""Options with which Java's small heap, its growing number of classes and the code that it compiles cause fewer
collections, which take a tenth of the processor time of a Spark that runs a few short queries.
"""
END_SECONDS = 900


def archive() -> Path:
    """Return the archive for the Java in use, made by ``make test``. Raises EmbeddedError."""
    return FOLDER / class_data.archive().name


def java_options() -> str:
    """Return Java options for SPARK_SUBMIT_OPTS, which all Sparks below a process get. Executors in separate processes
    get them by EXECUTORS_JAVA.
    """
    try:
        there = archive()
        if there.exists() and there.stat().st_size > 0:
            return f"{QUICK_JAVA} {FEW_COLLECTIONS} {class_data.using(there)}".replace('"', "")
    except EmbeddedError:
        pass  # tests that need Java fail with its message
    return f"{QUICK_JAVA} {FEW_COLLECTIONS}"


def make(archive: Path) -> None:
    from penstock.spark.settings import HostSettings, environment, start

    archive.parent.mkdir(exist_ok=True)
    draft = archive.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    conf = HostSettings().query_conf()
    options = f"{QUICK_JAVA} {class_data.writing(archive, draft)}".replace('"', "")
    os.environ |= environment(conf) | {"SPARK_SUBMIT_OPTS": options}
    context = start(conf)
    _work(context)
    java = context._gateway.proc
    context.stop()
    java.stdin.close()
    java.wait(END_SECONDS)
    draft.touch()
    draft.replace(archive)


def _work(context: object) -> None:
    from pyspark.sql import SparkSession

    session = SparkSession(context)  # type: ignore[arg-type]
    with tempfile.TemporaryDirectory() as folder:
        session.range(100).selectExpr("id", "cast(id AS STRING) AS name").write.json(f"{folder}/in")
        lines = session.readStream.schema("id BIGINT, name STRING").json(f"{folder}/in")
        written = {"path": f"{folder}/out", "checkpointLocation": f"{folder}/checkpoint"}
        lines.writeStream.trigger(availableNow=True).start(format="parquet", **written).awaitTermination()
        session.read.parquet(f"{folder}/out").createOrReplaceTempView("rows")
        assert session.sql("SELECT name, count(*) FROM rows GROUP BY name").count() == 100
        session.read.parquet(f"{folder}/out").rdd.map(len).count()


if __name__ == "__main__":
    if not (made := archive()).exists():
        print(f"Archiving the classes of Spark's Java in {made}, once, so that the Sparks of tests start sooner")
        make(made)
    broker_class_data.make()
    host_class_data.make()
