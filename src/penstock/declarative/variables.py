"""Variables in the files of connectors: ``{{ name }}``, given on the command line or by files of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from penstock.api.errors import ConfigError
from penstock.files import load_yaml, read_file

_REFERENCE = re.compile(r"\{\{\s*([\w.-]{1,200})\s*\}\}")
_QUOTED = re.compile(r" '[^<'][^']+'")
"""Names of anchors and tags; not tokens of YAML, such as ``'<scalar>'``, and single characters."""


class _Loader(yaml.SafeLoader):
    """Dates, times and fractions stay the texts that they are written as, which is what Kubernetes makes of the first
    two, and what they are in JSON here: `2026-01-01T00:00:00Z`, `22:15`, `1.50`. What JSON lacks is refused: bytes,
    sets, and what holds itself.
    """

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.deep_construct = True  # else what holds itself is made

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, KeyError, AttributeError):  # of `!!int x`, `!!bool x`, numbers of 5,000 digits
            problem = "found a value that can't be read as one of its type"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from None


_AS_WRITTEN = (":timestamp", ":float", ":value")
_INT = "tag:yaml.org,2002:int", re.compile(r"[-+]?(0b[01_]+|0[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)$")
_Loader.yaml_implicit_resolvers = {
    first: [_INT if each[0] == _INT[0] else each for each in kinds if not each[0].endswith(_AS_WRITTEN)]
    for first, kinds in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.yaml_constructors = {
    tag: yaml.SafeLoader.construct_yaml_str if (tag or "").endswith((":timestamp", ":float")) else make
    for tag, make in yaml.SafeLoader.yaml_constructors.items()
    if not (tag or "").endswith((":binary", ":set", ":omap", ":pairs"))
}


def yaml_documents(text: str) -> Iterator[Any]:
    """Raises YAMLError."""
    yield from load_yaml(text, _Loader)


def substituted(text: str, variables: Mapping[str, str], path: Path) -> str:
    """The text with values in place of references. Raises ConfigError for a variable without a value."""
    missing = sorted({name for name in _REFERENCE.findall(text) if name not in variables})
    if missing:
        named = ", ".join(f"`{name}`" for name in missing)
        raise ConfigError(f"{path} needs a value for {named}: give it by `--var {missing[0]}=VALUE` or `--var-file`")
    return _REFERENCE.sub(lambda found: variables[found[1]], text)


def variables(given: list[str], files: list[Path]) -> dict[str, str]:
    """Return the variables of ``name=value`` pairs, which take precedence, and of YAML or JSON files that hold one
    object each, whose values are strings, numbers and booleans.
    """
    found: dict[str, str] = {}
    for path in files:
        try:
            documents = list(yaml_documents(read_file(path, regular=False).decode("utf-8")))
        except (OSError, UnicodeError, yaml.YAMLError) as error:
            raise ConfigError(f"The file of variables {path} cannot be read: {_reason(error)}") from error
        if len(documents) != 1 or not isinstance(documents[0], dict):
            raise ConfigError(f"The file of variables {path} must hold one object of names and values")
        for name, value in documents[0].items():
            if isinstance(value, str | int):
                found[str(name)] = str(value).lower() if isinstance(value, bool) else str(value)
    for pair in given:
        name, separator, value = pair.partition("=")
        name = name.strip()
        if not separator or not name:  # the value may be a secret
            raise ConfigError(f"`--var {name}{separator and '=…'}` is not a variable; expected `--var name=value`")
        found[name] = value
    return found


def _reason(error: Exception) -> str:
    if isinstance(error, yaml.YAMLError):
        return yaml_problem(error)
    return (error.strerror or str(error)) if isinstance(error, OSError) else " ".join(str(error).split())


def yaml_problem(error: yaml.YAMLError) -> str:
    """Return what is wrong with the YAML and where, without its text, which may contain a secret or a variable's."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return " ".join(str(error).split())
    said = ", ".join(_QUOTED.sub("", part) for part in (error.context, error.problem) if part)
    mark = error.problem_mark or error.context_mark
    return said if mark is None else f"{said}, in line {mark.line + 1}, column {mark.column + 1}"
