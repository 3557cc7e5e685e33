"""Authentication by passwords, tokens and certificates."""
