"""``penstock.restart.policy`` and ``penstock.restart.max`` of a connector, by which ``core.restart_policy`` acts."""

from __future__ import annotations

from penstock.api.config import ConfigType, Importance, Width
from penstock.api.config_types import parse_type
from penstock.api.errors import ConfigError
from penstock.api.validators import ValidString
from penstock.core.config.setting import (
    BY_DEFAULT_THE_WORKERS,
    CONNECTORS_OWN_COUNTS,
    ERRORS,
    Props,
    RuntimeSetting,
    SettingContext,
    unless_absent,
)
from penstock.core.model.settings import RestartPolicyName

RESTART_POLICY = "penstock.restart.policy"
RESTART_MAX = "penstock.restart.max"
RESTART_POLICIES: tuple[RestartPolicyName, ...] = ("never", "on-failure")
_MEANING = (
    "Whether a connector or task that has FAILED is restarted: `never`, as in Java, or `on-failure`. The first restart "
    "follows the failure at once, further ones after 2, 6, 12, 20, 30, 42, 56 and then always 60 minutes; after ten "
    "minutes of health this begins again. Errors of configuration, authorization and authentication are not retried."
)


def policy_in(props: Props, default: RestartPolicyName) -> RestartPolicyName:
    """Return the policy of a connector, or the worker's ``default``.

    Configurations that Java's workers wrote have not been validated: a wrong value counts as none.
    """
    own = parse_type(RESTART_POLICY, props.get(RESTART_POLICY), ConfigType.STRING)
    return next((each for each in RESTART_POLICIES if each == own), default)


def max_in(props: Props) -> int | None:
    """Return the largest number of restarts in a row; None for any number, and for a wrong value."""
    try:
        limit: int | None = parse_type(RESTART_MAX, props.get(RESTART_MAX), ConfigType.INT)
    except ConfigError:
        return None
    return None if limit is None or limit < 0 else limit


def _limits_nothing(props: Props, context: SettingContext) -> str | None:
    if props.get(RESTART_MAX) is None or policy_in(props, context.restart_policy) != "never":
        return None
    whose = "" if RESTART_POLICY in props else ", by the worker's default,"
    reason = f"'{RESTART_POLICY}' is{whose} never; with on-failure there are restarts that it limits"
    return f"'{RESTART_MAX}' has no effect: {reason}"


RESTART_SETTINGS = (
    RuntimeSetting(
        name=RESTART_POLICY,
        type=ConfigType.STRING,
        default="never",
        validator=ValidString(*RESTART_POLICIES),
        importance=Importance.LOW,
        documentation=f"{_MEANING} {BY_DEFAULT_THE_WORKERS}",
        group=ERRORS,
        order=20,
        width=Width.SHORT,
        display_name="Restart Policy",
        optional=True,
        worker_documentation=f"{_MEANING} {CONNECTORS_OWN_COUNTS}",
        literal=f"; it is {' or '.join(RESTART_POLICIES)}",
    ),
    RuntimeSetting(
        name=RESTART_MAX,
        type=ConfigType.INT,
        default=None,
        validator=unless_absent(0),
        importance=Importance.LOW,
        documentation=f"How often `{RESTART_POLICY}` restarts the connector, or one of its tasks, in a row; after "
        "that it stays FAILED. By default there is no limit.",
        group=ERRORS,
        order=21,
        width=Width.SHORT,
        display_name="Restarts at most",
        optional=True,
        literal="; it is a number",
        without_effect=_limits_nothing,
    ),
)
