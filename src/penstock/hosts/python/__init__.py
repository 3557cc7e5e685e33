"""Plugins in Python environments of their own: building these, and running connectors and tasks in them.

``peer``, ``wire``, ``boot`` and ``serving`` run in the plugin's interpreter, too. That may be another Python, and has
nothing of the worker's but ``penstock`` itself: they import the standard library, ``penstock.api`` and each other.
"""
