"""The setting ``sql`` of SparkSink and SparkSource: a check of the plans that Spark makes of it."""
