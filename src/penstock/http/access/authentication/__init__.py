"""Who asks: passwords, tokens and certificates."""
