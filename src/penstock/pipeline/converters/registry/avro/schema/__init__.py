"""Avro's own schemas, by its specification: as objects, as JSON, as fastavro takes them, and compared with others."""
