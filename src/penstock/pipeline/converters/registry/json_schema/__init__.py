"""``JsonSchemaConverter``: Connect's schemas as JSON Schema, by the mapping of Confluent's ``JsonSchemaData``."""
