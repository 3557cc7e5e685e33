"""Policies for the client settings that a connector may override: ``connector.client.config.override.policy`` of the
worker (KIP-458).

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
    """Policy that judges the overrides of one client, which are settings without their prefix.

    Returns one value for each, with its errors.
    """

    def validate(self, overrides: Mapping[str, Any]) -> list[ConfigValue]: ...


@runtime_checkable
class RequestPolicy(Protocol):
    """Policy that is also told about the connector whose client it is."""

    def validate_request(
        self, client: str, overrides: Mapping[str, str | None], props: Mapping[str, str | None], source: bool
    ) -> list[ConfigValue]:
        """Judge overrides as ``OverridePolicy.validate`` does.

        ``client``: ``producer``, ``consumer`` or ``admin``. Values are given and returned as texts.
        """


@dataclass(frozen=True, slots=True)
class Allow:
    """Policy that allows the settings of these names; None allows all."""

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
    """Whether a built-in policy has this name: ``All``, ``None``, ``Principal``, ``Allowlist``, or a Java class."""
    return _short(name) in ("All", "None", "Principal", "Allowlist")


def _short(name: str) -> str:
    return name.removeprefix(_PACKAGE).removesuffix(_SUFFIX)


def override_policy(name: str, allowlist: list[str]) -> OverridePolicy:
    """Return the built-in policy of this name (``is_built_in``). Raises ConfigError if there is none."""
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
    """Return what the policy says about one client's settings. Raises Refused for a value of the wrong type."""
    return prefixed_infos(settings.keys, _judged(policy, props, prefix, settings, source), prefix)


def check_overrides(
    policy: OverridePolicy, props: Mapping[str, str | None], prefix: str, settings: ConfigDef, source: bool
) -> None:
    """Raise ConnectError for overrides that the policy does not allow; called before a client gets them.

    The configuration may be older than the policy, or not validated, or validation may not know of this client.

    Java: ``Worker.connectorClientConfigOverrides``; passwords are hidden here.
    """
    refused = [each for each in _judged(policy, props, prefix, settings, source) if each.errors]
    if refused:
        shown = ", ".join(_shown(each, settings, props.get(f"{prefix}{each.name}")) for each in refused)
        raise ConnectError(f"Client Config Overrides not allowed [{shown}]")


def _shown(value: ConfigValue, settings: ConfigDef, given: str | None) -> str:
    """Return the value as Java's ``ConfigValue.toString`` does."""
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
