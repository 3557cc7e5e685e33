"""Settings of queries that decide the values and schemas of rows, so that a cluster's defaults do not.

Spark's versions and clusters have other defaults; with these, the same records become the same rows. The worker's
properties override them; a ``spark-defaults.conf`` does not.
"""

from __future__ import annotations

SAME_RESULTS = {
    "spark.sql.ansi.enabled": "true",  # false before 4.0
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",  # EXCEPTION before 4.0
    "spark.sql.legacy.ctePrecedencePolicy": "CORRECTED",  # EXCEPTION before 4.0
    "spark.sql.execution.pandas.convertToArrowArraySafely": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    "spark.sql.caseSensitive": "false",
    "spark.sql.jsonGenerator.ignoreNullFields": "true",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "true",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.session.timeZone": "UTC",
    # Files that are damaged or have disappeared fail the task; their rows are not left out.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    # Spark's INT96 is read as nanoseconds elsewhere, which reach from 1677 to 2262 only.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.mergeSchema": "false",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.parquet.binaryAsString": "false",
    # Days before 1582 are those of the calendar of Python, Arrow and Connect, not Java's old one.
    **dict.fromkeys(
        (
            f"spark.sql.{format}.{mode}In{way}"
            for format, mode in (
                ("parquet", "datetimeRebaseMode"),
                ("parquet", "int96RebaseMode"),
                ("avro", "datetimeRebaseMode"),
            )
            for way in ("Read", "Write")
        ),
        "CORRECTED",
    ),
    "spark.speculation": "false",  # a second copy of a partition would report its metrics and dead letters twice
}
