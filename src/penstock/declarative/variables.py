"""Variables in the files of connectors: ``{{ name }}``, given on the command line or by files of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import yaml

from penstock.api.errors import ConfigError

_REFERENCE = re.compile(r"\{\{\s*([\w.-]{1,200})\s*\}\}")


def substituted(text: str, variables: Mapping[str, str], path: Path) -> str:
    """The text with values in place of references. Raises ConfigError for a variable without a value."""
    missing = sorted({name for name in _REFERENCE.findall(text) if name not in variables})
    if missing:
        named = ", ".join(f"`{name}`" for name in missing)
        raise ConfigError(f"{path} needs a value for {named}: give it by `--var {missing[0]}=VALUE` or `--var-file`")
    return _REFERENCE.sub(lambda found: variables[found[1]], text)


def variables(given: list[str], files: list[Path]) -> dict[str, str]:
    """Of ``name=value`` pairs, which count more, and of YAML or JSON files that hold one object each."""
    found: dict[str, str] = {}
    for path in files:
        try:
            document = yaml.safe_load(path.read_text("utf-8"))
        except (OSError, UnicodeError, yaml.YAMLError) as error:
            raise ConfigError(f"The file of variables {path} cannot be read: {_reason(error)}") from error
        if not isinstance(document, dict):
            raise ConfigError(f"The file of variables {path} must hold one object of names and values")
        for name, value in document.items():
            found[str(name)] = str(value).lower() if isinstance(value, bool) else str(value)
    for pair in given:
        name, separator, value = pair.partition("=")
        if not separator or not name:
            raise ConfigError(f"`--var {pair}` is not a variable; expected `--var name=value`")
        found[name.strip()] = value
    return found


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else " ".join(str(error).split())
