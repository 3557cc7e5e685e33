"""A configuration tried on real records, in a process of its own, without writing anything."""
