"""``python -m bench.plain_merge BOOTSTRAP TOPIC FOLDER COLUMNS RECORDS``: a hand-written job in place of a SparkSink
that changes a Delta table by the keys of records: Spark's stream of the topic, and Delta's MERGE of each batch.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from bench.plain_stream import stream
from penstock.embedded import jars
from penstock.spark.java import spark_java
from penstock.spark.versions import release
from support.spark import delta

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def main(bootstrap: str, topic: str, folder: str, columns: str, most: str) -> None:
    os.environ["JAVA_HOME"] = str(spark_java().home)
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import max_by

    settings = delta.spark_settings()
    settings["spark.jars"] = ",".join([*map(str, jars(release().kafka)), settings["spark.jars"]])
    builder = SparkSession.builder.master("local[2]").config(map=settings).config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.sql(f"CREATE TABLE delta.`{folder}` (id STRING, {columns}) USING delta")
    records = stream(spark, bootstrap, topic, most)
    rows = records.selectExpr(
        "CAST(key AS STRING) AS id", f"from_json(CAST(value AS STRING), '{columns}') AS row", "offset"
    )

    def merge(batch: DataFrame, _: int) -> None:
        batch.groupBy("id").agg(max_by("row", "offset").alias("row")).createOrReplaceTempView("changes")
        batch.sparkSession.sql(
            f"MERGE INTO delta.`{folder}` AS t USING (SELECT id, row.* FROM changes) AS s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    rows.writeStream.foreachBatch(merge).option("checkpointLocation", f"{folder}-state").start().awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
