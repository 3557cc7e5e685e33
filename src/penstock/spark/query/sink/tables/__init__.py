"""Targets of rows: ``target`` chooses one; ``files`` and ``delta`` are for their kinds of tables."""
