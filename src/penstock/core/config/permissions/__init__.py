"""Permissions of connector configurations, which the operator of a worker chooses."""
