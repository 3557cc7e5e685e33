"""Errors of a validation show references to config providers as they were given, not their values."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from core.test_validation import CATALOG, SOURCE, WORKER, FileSource
from penstock.api.config import ConfigValue
from penstock.core.config.validation import validate_connector


def test_errors_show_references_as_they_were_given() -> None:
    """Also where a value ends with a line end, as files do, and where another setting's error tells it."""

    class Telling(FileSource):
        def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
            told = f"{config['password'].strip()} and {config['kind']} do not fit"
            return [ConfigValue("topic", "t", errors=[told])]

    given = {**SOURCE, "password": "canary-7f3a\n", "kind": "csv", "tasks.max": "canary-of-number\n"}
    raw = {**given, "password": "${dir:/x:y}", "kind": "${env:KIND}", "tasks.max": "${dir:/x:z}"}
    told = validate_connector(CATALOG, given, Telling, WORKER, raw).errors
    assert "${dir:/x:y} and csv do not fit" in told
    assert "Invalid value ${dir:/x:z} for configuration tasks.max: Not a number of type INT" in " ".join(told)
    assert "canary" not in " ".join(told)


@pytest.mark.parametrize("key", ["connector.class", "connector.plugin.version"])
def test_the_class_of_a_connector_cannot_be_a_reference(key: str) -> None:
    """The connector would be created and fail: its worker looks for the class as it is written."""
    given = {**SOURCE, "connector.plugin.version": "4.3.1"}
    assert validate_connector(CATALOG, given, FileSource, WORKER, given).message is None
    told = validate_connector(CATALOG, given, FileSource, WORKER, {**given, key: "${env:X}"})
    assert told.errors == [f"'{key}' can't be a reference to a config provider (${{env:X}})"]
