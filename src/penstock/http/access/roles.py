"""Roles: the actions that principals may take on connectors (``penstock.authorization.file``).

groups:                      # beside those that tokens name
  operators: [alice, bob]
rules:
  - groups: [operators]      # or users; * is everybody who has proved who they are
    connectors: ["orders-*"] # by default all
    actions: [view, operate]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import yaml

from penstock.files import load_yaml
from penstock.http.access.authentication.principals import Principal
from penstock.http.access.listeners import RestSettingError

ACTIONS = (
    "view",
    "view-config",
    "operate",
    "configure",
    "offsets",
    "dead-letters",
    "records",
    "skip",
    "check",
    "admin",
)


@dataclass(frozen=True, slots=True)
class RoleRule:
    users: frozenset[str]
    groups: frozenset[str]
    connectors: tuple[str, ...]
    actions: frozenset[str]


@dataclass(frozen=True, slots=True)
class Roles:
    rules: tuple[RoleRule, ...]
    groups: Mapping[str, frozenset[str]]

    @classmethod
    def parse(cls, text: str) -> Roles:
        """Raises RestSettingError."""
        try:
            documents = list(load_yaml(text))
        except yaml.YAMLError as error:
            raise RestSettingError(f"it is no YAML: {error}") from None
        if len(documents) > 1:
            raise RestSettingError(f"it has {len(documents)} YAML documents; one is accepted")
        document = _mapping(next(iter(documents), None), "the file", {"groups", "rules"})
        named = _mapping(document.get("groups") or {}, "`groups`", None)
        groups = {str(name): _texts(members, f"group {name}") for name, members in named.items()}
        rules = document.get("rules")
        if not isinstance(rules, list):
            raise RestSettingError("`rules` must be a list")
        return cls(tuple(map(_rule, rules)), groups)

    def allow(self, principal: Principal, action: str, connector: str | None) -> bool:
        """Return whether a rule allows the action.

        ``connector`` is None for actions that do not concern one connector, which need a rule for all (``*``).
        """
        return any(
            action in rule.actions and (connector is not None or "*" in rule.connectors)
            for rule in self._of(principal)
            if connector is None or any(fnmatchcase(connector, pattern) for pattern in rule.connectors)
        )

    def has_any(self, principal: Principal) -> bool:
        return bool(self._of(principal))

    def granted(self, principal: Principal) -> frozenset[str]:
        """Return the actions that this principal may take on at least one connector."""
        return frozenset().union(*(rule.actions for rule in self._of(principal)))

    def _of(self, principal: Principal) -> list[RoleRule]:
        if principal.name is None:
            return []
        groups = principal.groups | {name for name, members in self.groups.items() if principal.name in members}
        return [rule for rule in self.rules if {principal.name, "*"} & rule.users or groups & rule.groups]


def _rule(given: Any) -> RoleRule:
    rule = _mapping(given, "a rule", {"users", "groups", "connectors", "actions"})
    users, groups = _texts(rule.get("users", []), "`users`"), _texts(rule.get("groups", []), "`groups`")
    actions = _texts(rule.get("actions"), "`actions`")
    if not users and not groups:
        raise RestSettingError("a rule has neither `users` nor `groups`")
    for action in actions - set(ACTIONS):
        raise RestSettingError(f"there is no action {action}; there are {', '.join(ACTIONS)}")
    return RoleRule(users, groups, tuple(sorted(_texts(rule.get("connectors", ["*"]), "`connectors`"))), actions)


def _mapping(given: Any, what: str, allowed: set[str] | None) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise RestSettingError(f"{what} must be a mapping")
    for key in given:
        if allowed is not None and key not in allowed:
            raise RestSettingError(f"{what} has `{key}`; it may have {', '.join(sorted(allowed))}")
    return given


def _texts(given: Any, what: str) -> frozenset[str]:
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise RestSettingError(f"{what} must be a list of texts")
    return frozenset(given)
