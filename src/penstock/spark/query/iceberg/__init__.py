"""Iceberg tables of SparkSink by pyiceberg: executors write the files of a batch, and the driver commits them once.

No jar is needed, so that it works with every Spark. ``commits`` decides, by the table alone, which batches it has.
"""
