"""The JDBC source's task (``task``): the tables that it reads (``source``), their ranges read by Spark's executors
(``reading``), and records of the rows that these send (``records``).
"""
