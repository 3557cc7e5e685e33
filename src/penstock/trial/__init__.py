"""Plugins tried out on this machine: ``penstock run``, and the worker process that the demo uses too."""
