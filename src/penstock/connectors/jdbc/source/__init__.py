"""The JDBC source without a database: settings, tables, SQL, offsets, and schemas of columns."""
