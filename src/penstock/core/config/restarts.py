"""``penstock.restart.policy`` and ``penstock.restart.max`` of a connector; ``core.restart_policy`` acts by them."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.api.config import ConfigDef, ConfigType, ConfigValue, Importance, Width
from penstock.api.config_types import parse_type
from penstock.api.errors import ConfigError
from penstock.api.validators import ValidString
from penstock.core.config.connector import ERRORS
from penstock.core.config.permissions.plugin_limits import unless_absent
from penstock.core.model.settings import RestartPolicyName

RESTART_POLICY = "penstock.restart.policy"
RESTART_MAX = "penstock.restart.max"
RESTART_POLICIES: tuple[RestartPolicyName, ...] = ("never", "on-failure")
RESTART_POLICY_MEANING = (
    "Whether a connector or task that has FAILED is restarted: `never`, as in Java, or `on-failure`. The first restart "
    "follows the failure at once, further ones after 2, 6, 12, 20, 30, 42, 56 and then always 60 minutes; after ten "
    "minutes of health this begins again. Errors of configuration, authorization and authentication are not retried."
)


def define_restart_policy(config: ConfigDef, props: Mapping[str, str | None]) -> None:
    """Add the definitions of what is given: without them the list of settings is Java's."""
    if RESTART_POLICY in props:
        config.define(
            RESTART_POLICY,
            ConfigType.STRING,
            "never",
            validator=ValidString(*RESTART_POLICIES),
            importance=Importance.LOW,
            documentation=f"{RESTART_POLICY_MEANING} By default the worker's setting of this name.",
            group=ERRORS,
            order_in_group=20,
            width=Width.SHORT,
            display_name="Restart Policy",
        )
    if RESTART_MAX in props:
        config.define(
            RESTART_MAX,
            ConfigType.INT,
            None,
            validator=unless_absent(0),
            importance=Importance.LOW,
            documentation=f"How often `{RESTART_POLICY}` restarts the connector, or one of its tasks, in a row; after "
            "that it stays FAILED. By default there is no limit.",
            group=ERRORS,
            order_in_group=21,
            width=Width.SHORT,
            display_name="Restarts at most",
        )


def check_restart_policy(value: ConfigValue, given: str | None) -> None:
    """Add what is wrong with the setting as the user gave it: the leader reads it without config providers."""
    if given is not None and "${" in given:
        right = "a number" if value.name == RESTART_MAX else " or ".join(RESTART_POLICIES)
        value.add_error(f"'{value.name}' can't be a reference to a config provider ({given}); it is {right}")


def limits_nothing(props: Mapping[str, str | None], default: RestartPolicyName) -> dict[str, str]:
    """Why ``penstock.restart.max`` has no effect, by its name; empty if it has one, or is not given."""
    if props.get(RESTART_MAX) is None or policy_in(props, default) != "never":
        return {}
    whose = "" if RESTART_POLICY in props else ", by the worker's default,"
    reason = f"'{RESTART_POLICY}' is{whose} never; with on-failure there are restarts that it limits"
    return {RESTART_MAX: f"'{RESTART_MAX}' has no effect: {reason}"}


def policy_in(props: Mapping[str, str | None], default: RestartPolicyName) -> RestartPolicyName:
    """The policy of a connector, or the worker's ``default``. Configurations that Java's workers wrote have not been
    validated: a wrong value counts as none.
    """
    own = parse_type(RESTART_POLICY, props.get(RESTART_POLICY), ConfigType.STRING)
    return next((each for each in RESTART_POLICIES if each == own), default)


def max_in(props: Mapping[str, str | None]) -> int | None:
    """How many restarts in a row there may be; None for any number, and for a wrong value, as in ``policy_in``."""
    try:
        most: int | None = parse_type(RESTART_MAX, props.get(RESTART_MAX), ConfigType.INT)
    except ConfigError:
        return None
    return None if most is None or most < 0 else most
