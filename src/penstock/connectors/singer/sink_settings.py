"""The settings of SingerSink."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from penstock.api.config import Password
from penstock.api.errors import ConfigError
from penstock.api.programs import SINGER_TARGET, TARGETS_ALLOWED
from penstock.api.typed_config import Setting, TypedConfig
from penstock.api.validators import at_least
from penstock.connectors.singer.settings import EMPTY, json_problem


@dataclass(frozen=True)
class SingerSinkSettings(TypedConfig):
    singer_target: Annotated[
        str,
        Setting(
            f"The target's executable, by its absolute path and without arguments. `{TARGETS_ALLOWED}` of the worker "
            "says which may be run.",
            name=SINGER_TARGET,
        ),
    ]
    singer_config: Annotated[Password, Setting("The target's configuration, a JSON object.")] = EMPTY
    singer_stream_name_format: Annotated[
        str, Setting("The stream of a record, in which ${topic} stands for its topic.")
    ] = "${topic}"
    pk_mode: Annotated[
        Literal["none", "record_key", "record_value"],
        Setting(
            "What `key_properties` of a stream are. record_key: the record's key, or fields of it, which are added to "
            "its value. record_value: fields of the value."
        ),
    ] = "none"
    pk_fields: Annotated[
        list[str] | None,
        Setting("Names of these fields (by default all), for a key that is no struct the one name that it gets."),
    ] = None
    behavior_on_null_values: Annotated[
        Literal["fail", "ignore"],
        Setting(
            "What becomes of a record without a value, for which Singer has no message. fail: it is an error, as "
            "`errors.tolerance` and the dead letter queue treat it. ignore: it is left out."
        ),
    ] = "fail"
    singer_state_timeout_ms: Annotated[
        int,
        Setting(
            "Milliseconds that a commit of offsets waits for the target to tell the state that it was given. Then its "
            "input is ended, so that it writes what it holds, and it is run again with the next records.",
            at_least(0),
        ),
    ] = 1500
    singer_end_timeout_ms: Annotated[
        int,
        Setting("Milliseconds after the end of its input within which the target has to end by itself.", at_least(1)),
    ] = 300_000


def sink_problems(config: Mapping[str, str]) -> list[tuple[str, str]]:
    """Find errors in values and between them; return pairs of a setting and a sentence."""
    found = []
    if (text := config.get("singer.config")) and (problem := json_problem(text)):
        found.append(("singer.config", problem))
    if not (config.get("singer.stream.name.format") or "${topic}").strip():
        found.append(("singer.stream.name.format", "has to name a stream"))
    if (config.get("pk.mode") or "none").strip() == "none" and (config.get("pk.fields") or "").strip():
        found.append(("pk.fields", "pk.mode=none has no key: set pk.mode, or leave pk.fields out"))
    return found


def check_target(command: str) -> None:
    """Raise ConfigError for a target that can't be run on this machine."""
    if not os.access(command, os.X_OK) or os.path.isdir(command):
        raise ConfigError(SINGER_TARGET, command, "there is no such executable on this machine")
