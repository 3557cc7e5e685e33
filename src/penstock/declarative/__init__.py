"""Connectors as files: read, compared with a cluster, and put into effect (``penstock apply``)."""
