"""Policies on which client settings connectors may override, ``connector.client.config.override.policy`` (KIP-458).

Java: ``ConnectorClientConfigOverridePolicy``. The built-in ones need no class: ``All``, ``None``, ``Principal``,
``Allowlist``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from penstock.api.config import ConfigDef, ConfigValue


class ClientOverridePolicy:
    """Base of custom policies."""

    java_name: ClassVar[str] = ""

    @classmethod
    def version(cls) -> str:
        """Return the version that the list of plugins shows."""
        return "unknown"

    @classmethod
    def config_def(cls) -> ConfigDef:
        """Return the settings of this class, without prefix."""
        return ConfigDef()

    def configure(self, config: Mapping[str, str]) -> None:
        """Configure the policy; called once, with all of the worker's settings."""

    def validate(self, overrides: Mapping[str, Any]) -> list[ConfigValue]:
        """Check the overrides of one client of a connector, given without their prefix.

        Return one value for each, with errors for those that are refused.
        """
        raise NotImplementedError
