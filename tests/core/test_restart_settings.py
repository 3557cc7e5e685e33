"""``penstock.restart.policy`` and ``penstock.restart.max`` in a connector's configuration."""

from __future__ import annotations

import pytest

from penstock.api.config import ConfigValue
from penstock.core.config.infos import ConfigInfos
from penstock.core.config.restarts import RESTART_MAX, RESTART_POLICY, check_restart_policy
from penstock.core.config.validation import WorkerRules
from penstock.plugins import Plugins

SOURCE = {"name": "n", "connector.class": "FileStreamSource", "topic": "t", "file": "/tmp/f"}
SINK = {"name": "n", "connector.class": "FileStreamSink", "topics": "t", "file": "/tmp/f"}


@pytest.fixture(scope="module")
def plugins() -> Plugins:
    return Plugins()


def values(infos: ConfigInfos) -> dict[str, str | None]:
    return {info.value.name: info.value.value for info in infos.configs if info.value}


@pytest.mark.parametrize("base", [SOURCE, SINK])
def test_they_are_settings_of_connectors_that_give_them(plugins: Plugins, base: dict[str, str]) -> None:
    given = plugins.validate({**base, RESTART_POLICY: "on-failure", RESTART_MAX: "7"}, WorkerRules())
    assert (given.errors, given.warnings) == ([], ())
    assert values(given)[RESTART_POLICY] == "on-failure"
    assert not {RESTART_POLICY, RESTART_MAX} & values(plugins.validate(base, WorkerRules())).keys()


@pytest.mark.parametrize(
    ("setting", "value", "problem"),
    [
        (RESTART_POLICY, "always", "String must be one of: never, on-failure"),
        (RESTART_MAX, "-1", "Value must be at least 0"),
    ],
)
def test_wrong_values(plugins: Plugins, setting: str, value: str, problem: str) -> None:
    given = {**SINK, RESTART_POLICY: "on-failure", setting: value}
    assert plugins.validate(given, WorkerRules()).errors == [
        f"Invalid value {value} for configuration {setting}: {problem}"
    ]


@pytest.mark.parametrize(
    ("setting", "value", "right"), [(RESTART_POLICY, "never", "never or on-failure"), (RESTART_MAX, 1, "a number")]
)
def test_they_are_no_references(setting: str, value: str | int, right: str) -> None:
    check_restart_policy(checked := ConfigValue(setting, value), "${file:/secrets:policy}")
    assert checked.errors == [
        f"'{setting}' can't be a reference to a config provider (${{file:/secrets:policy}}); it is {right}"
    ]
