"""New plugins from templates (``penstock new``)."""
