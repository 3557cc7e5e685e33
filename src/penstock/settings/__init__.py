"""The settings of a worker: the file, the names and defaults, the typed result."""

from __future__ import annotations

from penstock.settings.rest import HeaderRule, Listener, RestSettings
from penstock.settings.worker import (
    ExactlyOnceSource,
    GroupSettings,
    InternalTopic,
    SessionKeySettings,
    WorkerSettings,
    load_settings,
)

__all__ = [
    "ExactlyOnceSource",
    "GroupSettings",
    "HeaderRule",
    "InternalTopic",
    "Listener",
    "RestSettings",
    "SessionKeySettings",
    "WorkerSettings",
    "load_settings",
]
