"""Plugins in Python environments of their own: building these, and running connectors and tasks in them.

``peer``, ``messages``, ``wire``, ``boot`` and ``serving`` run in the plugin's interpreter as well. That may be another
version of Python, and has only ``penstock`` itself of the worker's packages: these modules import the standard library,
``penstock.api``, ``penstock.wire`` and each other. ``penstock.wire.plain`` is there what ``wire.messages`` is here.
"""
