"""The connectors that ship with Penstock; each module names the Java classes that it replaces."""

from __future__ import annotations

from penstock.connectors.dlt import DltSource
from penstock.connectors.file import FileStreamSinkConnector, FileStreamSourceConnector
from penstock.connectors.jdbc import JdbcSinkConnector, JdbcSourceConnector
from penstock.connectors.mirror import MirrorCheckpointConnector, MirrorHeartbeatConnector, MirrorSourceConnector
from penstock.connectors.postgres.connector import PostgresSource
from penstock.connectors.singer import SingerSink, SingerSource
from penstock.connectors.spark import SparkSink, SparkSource

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
