"""Classes that a mirror connector's settings name: its own, by Java's names, or custom ones in Python.

``module.Class`` and ``module:Class`` name classes of Python modules that the worker can import. Classes that exist in
Java only are known by name where they are the default, and have no effect.
"""

from __future__ import annotations

import importlib
from typing import Any

from penstock.api.errors import ConfigError
from penstock.connectors.mirror.classes.filters import (
    DefaultConfigPropertyFilter,
    DefaultGroupFilter,
    DefaultTopicFilter,
)
from penstock.connectors.mirror.classes.policy import DefaultReplicationPolicy, IdentityReplicationPolicy

FORWARDING_ADMIN = "org.apache.kafka.clients.admin.ForwardingAdmin"

_OWN = {
    each.java_name: each
    for each in (
        DefaultReplicationPolicy,
        IdentityReplicationPolicy,
        DefaultTopicFilter,
        DefaultGroupFilter,
        DefaultConfigPropertyFilter,
    )
}
_WITHOUT_EFFECT = ("org.apache.kafka.common.", "org.apache.kafka.clients.")


def load(name: str) -> Any:
    """The class of this name; the name itself for one of Kafka's own that has no effect here; None if there is none."""
    if name in _OWN:
        return _OWN[name]
    if name.startswith(_WITHOUT_EFFECT):
        return name
    module, _, attribute = name.replace(":", ".").rpartition(".")
    try:
        found = getattr(importlib.import_module(module), attribute, None) if module else None
    except ImportError:
        return None
    return found if isinstance(found, type) else None


def configured(setting: str, given: Any, method: str, config: dict[str, Any]) -> Any:
    """An object of the class that a setting names, configured. Raises ConfigError if it lacks the method."""
    cls = load(given) if isinstance(given, str) else given
    if not callable(getattr(cls, method, None)):
        raise ConfigError(setting, given, f"It should be a Python class with a method `{method}`")
    made = cls()
    if hasattr(made, "configure"):
        made.configure(config)
    return made
