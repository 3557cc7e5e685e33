"""Java's ``sasl.jaas.config``: a login module and its options. Java: ``JaasConfig``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from penstock.api.errors import ConfigError

_SETTING = "sasl.jaas.config"
_MODULE = re.compile(r"\s*([\w.$]+)\s+(required|requisite|sufficient|optional)\b", re.IGNORECASE)
_OPTION = re.compile(r"""\s*([\w.\-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))""")


class Jaas(NamedTuple):
    module: str
    """The name of its class, without the package."""
    options: Mapping[str, str]


def parse_jaas(text: str) -> Jaas:
    """Reads ``<class> required name="value" ...;``, of which there must be exactly one. Raises ConfigError."""
    found = _MODULE.match(text)
    if not found:
        raise ConfigError(_SETTING, "[hidden]", 'It should be `<login module> required name="value" ...;`')
    options: dict[str, str] = {}
    at = found.end()
    while option := _OPTION.match(text, at):
        name, *values = option.groups()
        options[name] = re.sub(r"\\(.)", r"\1", next(value for value in values if value is not None))
        at = option.end()
    if text[at:].strip() != ";":
        raise ConfigError(_SETTING, "[hidden]", "It should end with a semicolon behind its last option")
    return Jaas(found[1].rpartition(".")[2], options)
