"""Which client settings a connector may override, by the worker's ``connector.client.config.override.policy``
(KIP-458).

Java: ``ConnectorClientConfigOverridePolicy`` and its implementations in ``org.apache.kafka.connect.connector.policy``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from penstock.api.config import ConfigDef, ConfigType, ConfigValue, parse_type
from penstock.api.errors import ConfigError, ConnectError
from penstock.core.config.clients import ADMIN_SETTINGS, CONSUMER_SETTINGS, PRODUCER_SETTINGS
from penstock.core.config.infos import ConfigInfos, prefixed_infos
from penstock.core.model.messages import Refused
from penstock.java.hash_map import copy_order, hash_order
from penstock.java.text import java_text

PRODUCER = "producer.override."
ADMIN = "admin.override."
CONSUMER = "consumer.override."
CLIENT_SETTINGS: Mapping[str, ConfigDef] = {
    PRODUCER: PRODUCER_SETTINGS,
    CONSUMER: CONSUMER_SETTINGS,
    ADMIN: ADMIN_SETTINGS,
}
"""Settings that each kind of client can be given, by the prefix of its overrides."""


class OverridePolicy(Protocol):
    """Judges the overrides of one client (settings without their prefix): one value for each, errors in it."""

    def validate(self, overrides: Mapping[str, Any]) -> list[ConfigValue]: ...


@runtime_checkable
class RequestPolicy(Protocol):
    """A policy that also wants to know of the connector whose client it is."""

    def validate_request(
        self, client: str, overrides: Mapping[str, str | None], props: Mapping[str, str | None], source: bool
    ) -> list[ConfigValue]:
        """``client``: ``producer``, ``consumer`` or ``admin``; values come, and go, as texts."""


@dataclass(frozen=True, slots=True)
class Allow:
    """Allows the settings of these names; None is all."""

    policy: str
    names: frozenset[str] | None

    def validate(self, overrides: Mapping[str, Any]) -> list[ConfigValue]:
        return [self._checked(name, overrides[name]) for name in hash_order(overrides)]

    def _checked(self, name: str, value: Any) -> ConfigValue:
        checked = ConfigValue(name, value)
        if self.names is not None and name not in self.names:
            checked.add_error(
                f"The '{self.policy}' policy does not allow '{name}' to be overridden in the connector configuration."
            )
        return checked


ALL = Allow("All", None)
NONE = Allow("None", frozenset())
PRINCIPAL = Allow("Principal", frozenset({"sasl.jaas.config", "sasl.mechanism", "security.protocol"}))
_PACKAGE = "org.apache.kafka.connect.connector.policy."
_SUFFIX = "ConnectorClientConfigOverridePolicy"


def is_built_in(name: str) -> bool:
    """Whether a built-in policy is meant: ``All``, ``None``, ``Principal``, ``Allowlist``, or Java's class of one."""
    return _short(name) in ("All", "None", "Principal", "Allowlist")


def _short(name: str) -> str:
    return name.removeprefix(_PACKAGE).removesuffix(_SUFFIX)


def override_policy(name: str, allowlist: list[str]) -> OverridePolicy:
    """The built-in policy of this name (``is_built_in``). Raises ConfigError if there is none."""
    match _short(name):
        case "All":
            return ALL
        case "None":
            return NONE
        case "Principal":
            return PRINCIPAL
        case "Allowlist":
            return Allow("Allowlist", frozenset(allowlist))
    raise ConfigError("connector.client.config.override.policy", name, "There are All, None, Principal and Allowlist")


def validate_overrides(
    policy: OverridePolicy, props: Mapping[str, str | None], prefix: str, settings: ConfigDef, source: bool
) -> ConfigInfos:
    """What the policy says about one client's settings. Raises Refused for a value that is not of the client's type."""
    return prefixed_infos(settings.keys, _judged(policy, props, prefix, settings, source), prefix)


def check_overrides(
    policy: OverridePolicy, props: Mapping[str, str | None], prefix: str, settings: ConfigDef, source: bool
) -> None:
    """Called before a client gets them. Raises ConnectError for what the policy does not allow: the configuration may
    be older than the policy, or not validated, or this client not among those that validation knows of.

    Java: ``Worker.connectorClientConfigOverrides``; passwords are hidden here.
    """
    refused = [each for each in _judged(policy, props, prefix, settings, source) if each.errors]
    if refused:
        shown = ", ".join(_shown(each, settings, props.get(f"{prefix}{each.name}")) for each in refused)
        raise ConnectError(f"Client Config Overrides not allowed [{shown}]")


def _shown(value: ConfigValue, settings: ConfigDef, given: str | None) -> str:
    """Java: ``ConfigValue.toString``."""
    known = settings.keys.get(value.name)
    secret = known is not None and known.type is ConfigType.PASSWORD
    recommended, errors = (f"[{', '.join(map(str, each))}]" for each in (value.recommended_values, value.errors))
    text = "[hidden]" if secret else java_text(given)
    return f"[{value.name},{text},{recommended},{errors},{java_text(value.visible)}]"


def _judged(
    policy: OverridePolicy, props: Mapping[str, str | None], prefix: str, settings: ConfigDef, source: bool
) -> list[ConfigValue]:
    overrides: dict[str, Any] = {}
    texts: dict[str, str | None] = {}
    for key in copy_order(props):
        if key.startswith(prefix) and len(key) > len(prefix):
            name, value = key.removeprefix(prefix), props[key]
            texts[name] = value
            known = settings.keys.get(name)
            try:
                overrides[name] = value if known is None else parse_type(name, value, known.type)
            except ConfigError as error:
                raise Refused(400, str(error)) from error
    if isinstance(policy, RequestPolicy):
        values = policy.validate_request(prefix.partition(".")[0], texts, props, source)
        for each in values:
            if (
                each.name in settings.keys
                and settings.keys[each.name].type is ConfigType.LIST
                and each.value is not None
            ):
                each.value = [each.value]
    else:
        values = policy.validate(overrides)
    return values
