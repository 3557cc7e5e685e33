"""The worker's settings: properties file, definitions, typed result."""

from __future__ import annotations

from penstock.java.properties import parse_properties
from penstock.settings.providers import ConfigTransformer, has_reference, with_references
from penstock.settings.worker import (
    ExactlyOnceSource,
    GroupSettings,
    InternalTopic,
    SessionKeySettings,
    WorkerSettings,
    load_settings,
)

__all__ = [
    "ConfigTransformer",
    "ExactlyOnceSource",
    "GroupSettings",
    "InternalTopic",
    "SessionKeySettings",
    "WorkerSettings",
    "has_reference",
    "load_settings",
    "parse_properties",
    "with_references",
]
