"""Query tasks: connectors whose other end is a Spark table. Their one task is a Structured Streaming query.

``host`` runs them in Spark's driver, ``task`` is the loop of one, ``rows`` and ``columns`` are what happens to the
records in Spark's Python processes, ``target`` and ``files`` write them, ``progress`` keeps how far they have come.
"""
