"""The settings of SingerSource, and its source partition and offset."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from penstock.api.config import Password
from penstock.api.errors import ConfigError, ConnectError
from penstock.api.programs import SINGER_TAP, TAPS_ALLOWED
from penstock.api.typed_config import Setting, TypedConfig
from penstock.api.validators import at_least

KIND = "a Singer source"
TAP, _STATE = "tap", "state"
EMPTY = Password("{}")


@dataclass(frozen=True)
class SingerSettings(TypedConfig):
    singer_tap: Annotated[
        str,
        Setting(
            f"The tap's executable, by its absolute path and without arguments. `{TAPS_ALLOWED}` of the worker says "
            "which may be run.",
            name=SINGER_TAP,
        ),
    ]
    singer_config: Annotated[Password, Setting("The tap's configuration, a JSON object.")] = EMPTY
    singer_catalog: Annotated[
        str | None,
        Setting(
            "The tap's catalog, a JSON object with `streams`. By default the tap is asked for its catalog, and all "
            "its streams, or those of `singer.streams`, are selected with all their fields."
        ),
    ] = None
    singer_streams: Annotated[
        list[str] | None, Setting("Names of the streams to read. By default all that the catalog selects.")
    ] = None
    topic_prefix: Annotated[str, Setting("The topic of a stream is this and the stream's name.")] = ""
    poll_interval_ms: Annotated[
        int, Setting("Milliseconds after the end of the tap until it is run again.", at_least(0))
    ] = 60_000
    batch_max_rows: Annotated[int, Setting("Largest number of records of a poll.", at_least(1))] = 1000

    @property
    def partition(self) -> dict[str, Any]:
        return {TAP: os.path.basename(self.singer_tap)}


def singer_problems(config: Mapping[str, str]) -> list[tuple[str, str]]:
    """Find errors in texts of JSON; return pairs of a setting and a sentence."""
    return [
        (name, problem)
        for name, needs in (("singer.config", None), ("singer.catalog", "streams"))
        if (text := config.get(name)) and (problem := json_problem(text, needs))
    ]


def json_problem(text: str, needs: str | None = None) -> str | None:
    """The text may have secrets, so it is not shown."""
    try:
        found = json.loads(text)
    except ValueError as error:
        return f"has to be a JSON object: {error}"
    if not isinstance(found, dict):
        return "has to be a JSON object"
    if needs is not None and not isinstance(found.get(needs), list):
        return f"has to be a JSON object with the list `{needs}`"
    return None


def state_of(offset: Mapping[str, Any] | None, source: str = KIND) -> Any:
    """The state in an offset; None if there is none. Raises ConnectError for what is no offset of ``source``."""
    if offset is None:
        return None
    text = offset.get(_STATE)
    if set(offset) != {_STATE} or not isinstance(text, str):
        raise ConnectError(f"{dict(offset)} is no offset of {source}: it has its state as text, `{_STATE}`")
    try:
        return json.loads(text)
    except ValueError as error:
        raise ConnectError(f"`{_STATE}` of an offset of {source} has to be JSON: {error}") from None


def offset_of(state: Any) -> dict[str, Any]:
    return {_STATE: json.dumps(state, separators=(",", ":"))}


def check_settings(settings: SingerSettings) -> None:
    """Raise ConfigError for a tap that can't be run on this machine."""
    if not os.access(settings.singer_tap, os.X_OK) or os.path.isdir(settings.singer_tap):
        raise ConfigError(SINGER_TAP, settings.singer_tap, "there is no such executable on this machine")
