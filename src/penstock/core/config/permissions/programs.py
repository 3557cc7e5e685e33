"""Programs that connectors run: taps and targets of Singer, sources of dlt. By default none is allowed."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

TAPS_ALLOWED, SINGER_TAP = "penstock.singer.taps.allowed", "singer.tap"
TARGETS_ALLOWED, SINGER_TARGET = "penstock.singer.targets.allowed", "singer.target"
SOURCES_ALLOWED, DLT_SOURCE = "penstock.dlt.sources.allowed", "dlt.source"
PYTHONS_ALLOWED, DLT_PYTHON = "penstock.dlt.pythons.allowed", "dlt.python"
_EXECUTABLES = "executables"


@dataclass(frozen=True, slots=True)
class Rule:
    connector: str
    setting: str
    """Of the connector: what it runs."""
    allowing: str
    """Of the worker: patterns of what may be run."""
    what: str = _EXECUTABLES


RULES = (
    Rule("penstock.connectors.SingerSource", SINGER_TAP, TAPS_ALLOWED),
    Rule("penstock.connectors.SingerSink", SINGER_TARGET, TARGETS_ALLOWED),
    Rule("penstock.connectors.DltSource", DLT_SOURCE, SOURCES_ALLOWED, "sources"),
    Rule("penstock.connectors.DltSource", DLT_PYTHON, PYTHONS_ALLOWED),
)


def program_problems(
    connector: str, props: Mapping[str, str | None], allowed: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, str]]:
    """``allowed``: the patterns of the settings of the worker."""
    for rule in RULES:
        given = props.get(rule.setting) if rule.connector == connector else None
        if given and not _is_allowed(given, rule, allowed.get(rule.allowing, ())):
            yield rule.setting, f"{given} is not among the {rule.what} that `{rule.allowing}` of the worker allows"


def _is_allowed(given: str, rule: Rule, patterns: Sequence[str]) -> bool:
    """Paths have to be plain, so that patterns mean what they say."""
    if posixpath.normpath(given) != given or (rule.what == _EXECUTABLES and not posixpath.isabs(given)):
        return False
    return any(fnmatchcase(given, pattern) for pattern in patterns)
