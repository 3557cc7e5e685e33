"""The JDBC source's task: which table is due and how far it goes (``tables``), its ranges read by Spark's executors
(``reading``), and records of what they send (``records``).
"""
