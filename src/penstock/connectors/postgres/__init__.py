"""Changes of a PostgreSQL database, by logical replication."""
