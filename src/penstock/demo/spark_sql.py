"""Spark SQL over folders of files: a Spark of its own runs one query and ends.

``ask("SELECT carrier, avg(delay) FROM flights GROUP BY carrier", flights="/data/flights")``
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

_CONF = {
    "spark.master": "local[*]",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.log.level": "ERROR",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.defaultJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.pyspark.python": sys.executable,
}


def ask(
    sql: str,
    *,
    format: str = "parquet",
    timeout: float = 120.0,
    jars: Sequence[Path] = (),
    options: Mapping[str, Mapping[str, str]] | None = None,
    settings: Mapping[str, str] | None = None,
    **folders: str,
) -> list[dict[str, Any]]:
    """The rows of the answer; each folder is a view by the name of its argument. Dates and the like come as text.

    ``options``: views of what the format, or that of the option of this name, reads with these options of Spark's.
    ``jars``, ``settings``: what formats need.

    Takes the seconds that Spark needs to start. Raises RuntimeError with what Spark says of the question.
    """
    from penstock.spark.settings import environment

    views = {**{name: {"path": folder} for name, folder in folders.items()}, **(options or {})}
    question = {
        "sql": sql,
        "format": format,
        "views": views,
        "settings": {"spark.jars": ",".join(map(str, jars)), **(settings or {})},
    }
    done = subprocess.run(
        [sys.executable, "-m", "penstock.demo.spark_sql"],
        input=orjson.dumps(question),
        capture_output=True,
        env=environment(_CONF),
        timeout=timeout,
        check=False,
    )
    if done.returncode != 0:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no word"]
        raise RuntimeError(f"Spark could not answer: {lines[-1]}")
    rows: list[dict[str, Any]] = orjson.loads(done.stdout)
    return rows


def _answer(question: dict[str, Any]) -> list[dict[str, Any]]:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    settings = {**_CONF, **question["settings"]}
    spark = SparkSession.builder.config(conf=SparkConf().setAll(list(settings.items()))).getOrCreate()
    for name, options in question["views"].items():
        spark.read.format(options.pop("format", question["format"])).options(**options).load().createOrReplaceTempView(
            name
        )
    return [row.asDict(recursive=True) for row in spark.sql(question["sql"]).collect()]


def main() -> None:
    try:
        rows = _answer(orjson.loads(sys.stdin.buffer.read()))
    except Exception as error:
        print(f"{str(error).splitlines()[0]}", file=sys.stderr)
        os._exit(1)
    sys.stdout.buffer.write(orjson.dumps(rows, default=str))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
