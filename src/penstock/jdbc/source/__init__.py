"""What the JDBC source reads, without a database: settings, tables, SQL, offsets, and schemas of columns."""
