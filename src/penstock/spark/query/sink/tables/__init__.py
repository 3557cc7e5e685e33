"""Where rows go: ``target`` chooses; ``files``, ``delta`` and ``merge`` are what kinds of tables need."""
