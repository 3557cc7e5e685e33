"""Iceberg tables of SparkSink by pyiceberg: executors write the files of a batch, and the driver commits them once.

No jar of Iceberg is needed. ``commits`` decides, by the table alone, which batches it has.
"""
