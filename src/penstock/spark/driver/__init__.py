"""Spark's driver, a process of its own."""
