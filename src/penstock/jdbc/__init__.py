"""Databases by JDBC: dialects, settings, drivers, and Java classes for Spark. Nothing here imports Spark."""
