"""Databases by JDBC: connectors, settings, dialects of SQL, and Java classes for Spark's executors.

The queries themselves are in ``penstock.spark.query.jdbc``.
"""

from __future__ import annotations

from penstock.connectors.jdbc.connectors import JdbcSinkConnector, JdbcSinkTask, JdbcSourceConnector, JdbcSourceTask

__all__ = ["JdbcSinkConnector", "JdbcSinkTask", "JdbcSourceConnector", "JdbcSourceTask"]
