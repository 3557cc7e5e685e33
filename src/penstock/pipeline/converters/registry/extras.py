"""Libraries that are needed by these converters only, imported when a converter is configured."""

from __future__ import annotations

import importlib
from typing import Any

from penstock.api.errors import ConfigError


def load(module: str, extra: str) -> Any:
    """The module; raises ConfigError with the command that installs it if it, or what it needs, is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        missing = error.name or module
        raise ConfigError(
            f"The Python module `{missing}` is missing, which this converter needs: pip install 'penstock[{extra}]'"
        ) from error
