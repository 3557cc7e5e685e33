"""``python -m bench.plain_source BOOTSTRAP TOPIC FOLDER COLUMNS MASTER CORES``: a plain job instead of
SparkSource.
"""

from __future__ import annotations

import os
import sys

from penstock.embedded import jars
from penstock.spark.java import spark_java
from penstock.spark.versions import release


def main(bootstrap: str, topic: str, folder: str, columns: str, master: str, cores: str) -> None:
    os.environ["JAVA_HOME"] = str(spark_java().home)
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master(master)
        .config("spark.cores.max", cores)
        .config("spark.jars", ",".join(map(str, jars(release().kafka))))
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    values = spark.read.schema(columns).parquet(folder).selectExpr("to_json(struct(*)) AS value")
    values.write.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("topic", topic).save()


if __name__ == "__main__":
    main(*sys.argv[1:])
