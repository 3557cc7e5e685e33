"""The messages between a worker and the processes of Spark: one module for each protocol."""
