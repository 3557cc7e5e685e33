"""Configurations of connectors before they run: validation, references, permissions."""
