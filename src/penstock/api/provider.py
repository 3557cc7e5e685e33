"""Config providers, which replace references such as ``${file:/etc/secrets.properties:password}`` (KIP-297).

Workers name them in ``config.providers``; the runtime makes one object for each name. Java: ``ConfigProvider``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

from penstock.api.config import ConfigDef


class ConfigData(dict[str, str]):
    """Values that a provider returns; out of date after ``ttl_ms``, if that is not None."""

    def __init__(self, values: Mapping[str, str], ttl_ms: int | None = None) -> None:
        super().__init__(values)
        self.ttl_ms = ttl_ms


class ConfigProvider:
    """Base of all config providers."""

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
        """Configure the provider; called once, with the settings ``config.providers.<name>.param.*``, without prefix.

        Raises ConfigError.
        """

    def get(self, path: str, keys: Collection[str] | None = None) -> dict[str, str]:
        """Return the values at this path: of these keys as far as they are there, or all of them.

        Called whenever a configuration is resolved, from any thread. ``path`` is empty in ``${name:key}``. Return a
        ``ConfigData`` for values that expire: connectors are restarted then, as ``config.action.reload`` says.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Release what the object holds; called once, after the last use."""
