"""Query tasks: connectors whose other end is a Spark table. Their one task is a Structured Streaming query.

``host`` runs them in Spark's driver; ``sink`` writes topics to tables, ``source`` reads tables into a topic.
"""
