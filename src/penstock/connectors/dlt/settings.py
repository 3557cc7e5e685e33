"""The settings of DltSource, and its source partition."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from penstock.api.config import Password
from penstock.api.errors import ConfigError
from penstock.api.programs import DLT_PYTHON, DLT_SOURCE, PYTHONS_ALLOWED, SOURCES_ALLOWED
from penstock.api.typed_config import Setting, TypedConfig
from penstock.api.validators import at_least
from penstock.connectors.singer.settings import EMPTY, json_problem

KIND = "a source of dlt"
SOURCE = "source"


@dataclass(frozen=True)
class DltSettings(TypedConfig):
    dlt_source: Annotated[
        str,
        Setting(
            "A source or resource of dlt: `module:name`, or the absolute path of a file or a package's folder and the "
            f"name in it, `/opt/shop/orders.py:orders`. `{SOURCES_ALLOWED}` of the worker says which may be run.",
            name=DLT_SOURCE,
        ),
    ]
    dlt_arguments: Annotated[Password, Setting("Arguments of the source by their names, a JSON object.")] = EMPTY
    dlt_config: Annotated[
        Password,
        Setting(
            "Configuration and secrets of dlt, a JSON object with the sections of `config.toml` and `secrets.toml`."
        ),
    ] = EMPTY
    dlt_resources: Annotated[
        list[str] | None, Setting("Names of the resources to read. By default those that the source selects.")
    ] = None
    dlt_python: Annotated[
        str | None,
        Setting(
            "The Python of an environment that has dlt and what the source needs, by its absolute path. "
            f"`{PYTHONS_ALLOWED}` of the worker says which may be used. By default that of the task.",
            name=DLT_PYTHON,
        ),
    ] = None
    topic_prefix: Annotated[str, Setting("The topic of a table is this and the table's name.")] = ""
    poll_interval_ms: Annotated[
        int, Setting("Milliseconds after the end of a run until the source is run again.", at_least(0))
    ] = 60_000
    batch_max_rows: Annotated[int, Setting("Largest number of records of a poll.", at_least(1))] = 1000

    @property
    def partition(self) -> dict[str, Any]:
        """The source partition: the source without its folder, so that it may be moved."""
        return {SOURCE: os.path.basename(self.dlt_source)}

    @property
    def python(self) -> str:
        return self.dlt_python or sys.executable


def dlt_problems(config: Mapping[str, str]) -> list[tuple[str, str]]:
    """Find errors in texts of JSON and in the name of the source; return pairs of a setting and a sentence."""
    found = [
        (name, problem)
        for name in ("dlt.arguments", "dlt.config")
        if (text := config.get(name)) and (problem := json_problem(text))
    ]
    place, _, name = config.get(DLT_SOURCE, "").strip().rpartition(":")
    if name and not (place and name.isidentifier()):
        found.append((DLT_SOURCE, "has to be `module:name` or `/folder/file.py:name`"))
    return found


def check_settings(settings: DltSettings) -> None:
    """Raise ConfigError for a source that can't be run on this machine."""
    if not os.access(settings.python, os.X_OK) or os.path.isdir(settings.python):
        raise ConfigError(DLT_PYTHON, settings.python, "there is no such executable on this machine")
    place = settings.dlt_source.rpartition(":")[0]
    if os.path.isabs(place) and not os.path.exists(place):
        raise ConfigError(DLT_SOURCE, settings.dlt_source, "there is no such file on this machine")
