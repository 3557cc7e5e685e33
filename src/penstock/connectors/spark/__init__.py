"""SparkSink and SparkSource: whatever Spark can write, and whatever it can stream."""

from __future__ import annotations

from penstock.connectors.spark.connectors import SparkSink, SparkSinkTask, SparkSource, SparkSourceTask

__all__ = ["SparkSink", "SparkSinkTask", "SparkSource", "SparkSourceTask"]
