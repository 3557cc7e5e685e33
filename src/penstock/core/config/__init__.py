"""Connector configurations: definitions, plugins' names, validation."""
