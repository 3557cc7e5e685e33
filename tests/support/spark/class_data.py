"""An archive of the classes of Spark's Java, so that the many Sparks of tests need not read and verify each of them.

``python -m support.spark.class_data FILE`` makes it, by a Spark that does once what queries do. A Java that can't make
such an archive leaves the file empty; an archive of another Java or of other jars is passed over without a word.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from support.worker_process import QUICK_JAVA

ARCHIVE = Path(__file__).parents[3] / "build" / "spark.jsa"
"""Made by ``make test``."""
SILENT = "-Xshare:auto -Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"
EXECUTORS_JAVA = "spark.executor.extraJavaOptions"
END_SECONDS = 120


def java_options(archive: Path = ARCHIVE) -> str:
    """For SPARK_SUBMIT_OPTS, which all Sparks below a process get, whoever starts them. Executors that are processes of
    their own get them by EXECUTORS_JAVA.
    """
    there = archive.exists() and archive.stat().st_size > 0
    return f"{QUICK_JAVA} -XX:SharedArchiveFile={archive} {SILENT}" if there else QUICK_JAVA


def make(archive: Path) -> None:
    from penstock.spark.settings import HostSettings, environment, start

    archive.parent.mkdir(exist_ok=True)
    archive.unlink(missing_ok=True)
    conf = HostSettings().query_conf()
    options = f"{QUICK_JAVA} -XX:ArchiveClassesAtExit={archive} {SILENT}"
    os.environ |= environment(conf) | {"SPARK_SUBMIT_OPTS": options}
    context = start(conf)
    _work(context)
    java = context._gateway.proc
    context.stop()
    java.stdin.close()
    java.wait(END_SECONDS)
    archive.touch()


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
    make(Path(sys.argv[1]).absolute())
