"""Iceberg tables of SparkSink by pyiceberg: executors write the files of a batch, and the driver commits them once.

No jar is needed, so that it works with every Spark. ``commits`` is the heart: which batches a table has is told by the
table alone.
"""
