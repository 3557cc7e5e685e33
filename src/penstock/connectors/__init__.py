"""The connectors that ship with Penstock; each module names the Java classes that it replaces."""

from __future__ import annotations

from penstock.connectors.dlt import DltSource
from penstock.connectors.file import FileStreamSinkConnector, FileStreamSourceConnector
from penstock.connectors.jdbc_sink import JdbcSinkConnector
from penstock.connectors.jdbc_source import JdbcSourceConnector
from penstock.connectors.mirror import MirrorCheckpointConnector, MirrorHeartbeatConnector, MirrorSourceConnector
from penstock.connectors.postgres.connector import PostgresSource
from penstock.connectors.singer import SingerSink, SingerSource
from penstock.connectors.spark_sink import SparkSink
from penstock.connectors.spark_source import SparkSource

__all__ = [
    "DltSource",
    "FileStreamSinkConnector",
    "FileStreamSourceConnector",
    "JdbcSinkConnector",
    "JdbcSourceConnector",
    "MirrorCheckpointConnector",
    "MirrorHeartbeatConnector",
    "MirrorSourceConnector",
    "PostgresSource",
    "SingerSink",
    "SingerSource",
    "SparkSink",
    "SparkSource",
]
