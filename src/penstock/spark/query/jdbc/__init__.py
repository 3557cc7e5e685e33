"""Queries that write to databases by JDBC, with the dialects and settings of ``penstock.connectors.jdbc``.

Spark's Python processes make rows of records (``rows``), its executors write them by Java
(``penstock/connectors/jdbc/java``), and the driver looks after tables and batches (``writer``).
"""
