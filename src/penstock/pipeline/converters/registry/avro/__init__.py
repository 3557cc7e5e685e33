"""``AvroConverter``: Connect's schemas and values as Avro's, by the mapping of Confluent's ``AvroData``."""
