"""The demos with databases: ``jdbc`` from one to another, ``cdc`` from one to a Delta table that follows it."""
