"""Query tasks: connectors whose other end is a Spark table. Their one task is a Structured Streaming query.

``host`` runs them in Spark's driver. Of a sink, ``task`` is the loop, ``rows`` and ``columns`` are what happens to the
records in Spark's Python processes, ``target`` and ``files`` write them, ``progress`` keeps how far they have come. Of
a source, ``source_task`` is the task, ``transport`` brings its rows, ``schemas`` makes records of them, ``checkpoint``
keeps what its batches were made of.
"""
