"""Hosts of foreign plugins: processes in which classes of another environment live, and the protocol to them."""
