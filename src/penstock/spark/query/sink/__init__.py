"""A Spark sink's query.

``task`` runs it. ``rows`` makes rows of records, in Spark's Python processes; ``writer`` writes a batch of them to a
table (``tables``). ``totals`` are what those processes count. ``offsets`` keeps the position in the topics, whose
metadata ``progress`` reads.
"""
