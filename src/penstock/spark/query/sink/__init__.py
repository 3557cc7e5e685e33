"""A Spark sink's query.

``task`` runs it. ``rows``, ``row_maker`` and ``columns`` make rows of records, in Spark's Python processes; ``writer``
writes a batch of them to a ``target``, for folders of files by ``files``. ``offsets`` keeps the position in the topics,
whose metadata ``progress`` reads.
"""
