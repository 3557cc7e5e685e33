"""Kafka Connect in Python, with its data pipeline on Spark."""

__version__ = "0.1.0"

KAFKA_VERSION = "4.3.1"
"""The release of Kafka Connect whose interface, settings and plugins are reproduced; reported as their version."""
