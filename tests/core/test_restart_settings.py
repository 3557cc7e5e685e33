"""``penstock.restart.policy`` and ``penstock.restart.max`` in a connector's configuration."""

from __future__ import annotations

import pytest

from penstock.api.config import ConfigValue
from penstock.connectors.file import FileStreamSinkConnector
from penstock.core.config.catalog import Kind
from penstock.core.config.infos import ConfigInfos
from penstock.core.config.restarts import RESTART_MAX, RESTART_POLICY, max_in, policy_in
from penstock.core.config.runtime_settings import check_settings
from penstock.core.config.validation import WorkerRules
from penstock.core.model.settings import RestartPolicyName
from penstock.plugins import Plugins

SOURCE = {"name": "n", "connector.class": "FileStreamSource", "topic": "t", "file": "/tmp/f"}
SINK = {"name": "n", "connector.class": "FileStreamSink", "topics": "t", "file": "/tmp/f"}


@pytest.fixture(scope="module")
def plugins() -> Plugins:
    return Plugins()


def values(infos: ConfigInfos) -> dict[str, str | None]:
    return {info.value.name: info.value.value for info in infos.configs if info.value}


@pytest.mark.parametrize("base", [SOURCE, SINK])
def test_restart_settings_are_defined_only_where_they_are_given(plugins: Plugins, base: dict[str, str]) -> None:
    given = plugins.validate({**base, RESTART_POLICY: "on-failure", RESTART_MAX: "7"}, WorkerRules())
    assert (given.errors, given.warnings) == ([], ())
    assert values(given)[RESTART_POLICY] == "on-failure"
    required = {info.definition.name for info in given.configs if info.definition and info.definition.required}
    assert not {RESTART_POLICY, RESTART_MAX} & required
    assert not {RESTART_POLICY, RESTART_MAX} & values(plugins.validate(base, WorkerRules())).keys()


@pytest.mark.parametrize(
    ("setting", "value", "problem"),
    [
        (RESTART_POLICY, "always", "String must be one of: never, on-failure"),
        (RESTART_MAX, "-1", "Value must be at least 0"),
    ],
)
def test_wrong_values_are_refused(plugins: Plugins, setting: str, value: str, problem: str) -> None:
    given = {**SINK, RESTART_POLICY: "on-failure", setting: value}
    assert plugins.validate(given, WorkerRules()).errors == [
        f"Invalid value {value} for configuration {setting}: {problem}"
    ]


@pytest.mark.parametrize(
    ("setting", "value", "right"), [(RESTART_POLICY, "never", "never or on-failure"), (RESTART_MAX, "1", "a number")]
)
def test_references_to_config_providers_are_refused(setting: str, value: str, right: str) -> None:
    values = {setting: ConfigValue(setting, value)}
    check_settings({setting: value}, {setting: "${file:/secrets:policy}"}, values, FileStreamSinkConnector(), Kind.SINK)
    assert values[setting].errors == [
        f"'{setting}' can't be a reference to a config provider (${{file:/secrets:policy}}); it is {right}"
    ]


DEFAULT = (
    "'penstock.restart.max' has no effect: 'penstock.restart.policy' is, by the worker's default, never; "
    "with on-failure there are restarts that it limits"
)
OWN = DEFAULT.replace(", by the worker's default,", "")


@pytest.mark.parametrize(
    ("own", "of_worker", "warnings"),
    [
        (None, "never", (DEFAULT,)),
        (None, "on-failure", ()),
        ("never", "on-failure", (OWN,)),
        (" never ", "on-failure", (OWN,)),
        ("on-failure", "never", ()),
    ],
)
def test_a_limit_of_no_restarts_has_no_effect(
    plugins: Plugins, own: str | None, of_worker: RestartPolicyName, warnings: tuple[str, ...]
) -> None:
    given = {**SINK, RESTART_MAX: "3", **({} if own is None else {RESTART_POLICY: own})}
    infos = plugins.validate(given, WorkerRules(restart_policy=of_worker))
    assert (infos.errors, infos.warnings) == ([], warnings)
    strict = plugins.validate(given, WorkerRules(restart_policy=of_worker, strict=True))
    assert (tuple(strict.errors), strict.warnings) == (warnings, ())


def test_values_that_validation_accepts_are_read() -> None:
    """With blanks and a sign, as Java's definitions accept them."""
    assert policy_in({RESTART_POLICY: " on-failure "}, "never") == "on-failure"
    assert [max_in({RESTART_MAX: value}) for value in ("0", " 7 ", "+5")] == [0, 7, 5]


def test_invalid_values_count_as_not_given() -> None:
    assert policy_in({RESTART_POLICY: "always"}, "on-failure") == "on-failure"
    assert [max_in({RESTART_MAX: value}) for value in ("-1", "many", "", None)] == [None] * 4
