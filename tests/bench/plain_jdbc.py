"""``python -m bench.plain_jdbc BOOTSTRAP TOPIC URL JAR RECORDS``: what somebody would write in place of the JDBC
source: a table by four connections of Spark into a topic.
"""

from __future__ import annotations

import os
import sys

from penstock.embedded import jars, java_home


def main(bootstrap: str, topic: str, url: str, jar: str, records: str) -> None:
    os.environ["JAVA_HOME"] = str(java_home())
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", ",".join([*map(str, jars("spark-kafka")), jar]))
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    rows = (
        spark.read.format("jdbc")
        .option("url", url)
        .option("driver", "org.postgresql.Driver")
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


if __name__ == "__main__":
    main(*sys.argv[1:])
