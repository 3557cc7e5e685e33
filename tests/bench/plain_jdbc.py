"""``python -m bench.plain_jdbc source|sink BOOTSTRAP TOPIC URL JAR ...``: a plain job instead of the JDBC connectors:
Spark copies a table to a topic with four connections, or a topic to a table.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from bench.plain_stream import stream
from penstock.embedded import jars
from penstock.spark.java import spark_java
from penstock.spark.versions import release

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DRIVER = "org.postgresql.Driver"


def main(what: str, bootstrap: str, topic: str, url: str, jar: str, *more: str) -> None:
    os.environ["JAVA_HOME"] = str(spark_java().home)
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", ",".join([*map(str, jars(release().kafka)), jar]))
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.extraJavaOptions", "-Duser.timezone=UTC")
        .getOrCreate()
    )
    {"source": source, "sink": sink}[what](spark, bootstrap, topic, url, *more)


def source(spark: SparkSession, bootstrap: str, topic: str, url: str, records: str) -> None:
    rows = (
        spark.read.format("jdbc")
        .option("url", url)
        .option("driver", DRIVER)
        .option("dbtable", "ten")
        .option("fetchsize", "10000")
        .option("partitionColumn", "id")
        .option("lowerBound", "1")
        .option("upperBound", records)
        .option("numPartitions", "4")
        .load()
    )
    values = rows.selectExpr("to_json(struct(*)) AS value")
    values.write.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("topic", topic).save()


def sink(
    spark: SparkSession, bootstrap: str, topic: str, url: str, table: str, columns: str, folder: str, most: str
) -> None:
    """Run the job. ``columns``: names and Spark types; ``at`` is in milliseconds, and ``day`` in days, since 1970."""
    records = stream(spark, bootstrap, topic, most)
    values = records.selectExpr(f"from_json(CAST(value AS STRING), '{columns}') AS row").select("row.*")
    rows = values.selectExpr("* EXCEPT (at, day)", "timestamp_millis(at) AS at", "date_from_unix_date(day) AS day")

    def write(batch: DataFrame, _: int) -> None:
        table_of = batch.write.format("jdbc").option("url", url).option("driver", DRIVER).option("dbtable", table)
        table_of.option("batchsize", "3000").mode("append").save()

    rows.writeStream.foreachBatch(write).option("checkpointLocation", f"{folder}-state").start().awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
