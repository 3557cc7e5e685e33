"""Settings that several transforms share, and the dialects their values are written in."""

from __future__ import annotations

from penstock.api.config import ConfigDef, ConfigType, Importance


def replace_null_setting(definition: ConfigDef) -> ConfigDef:
    """Add ``replace.null.with.default`` (KIP-1040)."""
    return definition.define(
        "replace.null.with.default",
        ConfigType.BOOLEAN,
        True,
        importance=Importance.MEDIUM,
        documentation="Whether a null in a field that has a default becomes that default (true) or stays null (false).",
    )


def split(text: str, separator: str = ":") -> list[str]:
    """Java's ``String.split``: empty parts at the end don't count."""
    parts = text.split(separator)
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return [] if parts == [""] and text else parts
