"""``python -m bench.plain_query BOOTSTRAP TOPIC FOLDER RECORDS``: a hand-written job in place of
SparkSink.
"""

from __future__ import annotations

import os
import sys

from bench.plain_stream import stream
from penstock.embedded import jars
from penstock.spark.java import spark_java
from penstock.spark.versions import release


def main(bootstrap: str, topic: str, folder: str, most: str) -> None:
    os.environ["JAVA_HOME"] = str(spark_java().home)
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", ",".join(map(str, jars(release().kafka))))
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    records = stream(spark, bootstrap, topic, most)
    values = records.selectExpr("CAST(value AS STRING) AS value")
    query = values.writeStream.format("parquet").option("path", folder).option("checkpointLocation", f"{folder}-state")
    query.start().awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
