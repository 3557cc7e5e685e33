"""Values of PostgreSQL as those of Connect."""
