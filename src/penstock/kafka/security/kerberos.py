"""A login with Kerberos as Java's settings describe it: the options of ``Krb5LoginModule``, and the broker's service.

Java: ``KerberosLogin``, ``com.sun.security.auth.module.Krb5LoginModule``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from penstock.api.errors import ConfigError

_JAAS = "sasl.jaas.config"
_SERVICE = "sasl.kerberos.service.name"
_NEEDED = 'Krb5LoginModule needs `useKeyTab=true keyTab="..." principal="..."`, or `useTicketCache=true`'


@dataclass(frozen=True, slots=True)
class Kerberos:
    """Kerberos principal and service of a client. A keytab is preferred to a ticket cache if both are given."""

    service: str
    """The first part of the brokers' principals."""
    principal: str
    """Empty: the owner of the tickets in the cache."""
    keytab: str = ""
    cache: str = ""
    """Used without a keytab. Empty: that of the process's environment and krb5.conf."""

    @classmethod
    def of(cls, settings: Mapping[str, str], options: Mapping[str, str]) -> Self:
        """Raises ConfigError for what can't be used."""
        service, principal = _service(settings, options), options.get("principal", "")
        if _is_true(options, "useKeyTab"):
            keytab = options.get("keyTab", "").removeprefix("FILE:")
            if not keytab or not principal or principal == "*":
                raise ConfigError(_JAAS, "[hidden]", f"{_NEEDED}: with a keytab both its file and the principal")
            return cls(service, principal, keytab)
        if not _is_true(options, "useTicketCache"):
            raise ConfigError(_JAAS, "[hidden]", f"{_NEEDED}; passwords can't be used")
        return cls(service, principal, cache=options.get("ticketCache", ""))

    @property
    def short_name(self) -> str:
        """The user's name in access control lists, by the brokers' default rules."""
        return self.principal.partition("@")[0].partition("/")[0]

    @property
    def identity(self) -> tuple[str, str, str]:
        return self.principal, self.keytab, self.cache


def _is_true(options: Mapping[str, str], name: str) -> bool:
    return options.get(name, "").strip().lower() == "true"


def _service(settings: Mapping[str, str], options: Mapping[str, str]) -> str:
    of_client, of_module = settings.get(_SERVICE, "").strip(), options.get("serviceName", "").strip()
    if of_client and of_module and of_client != of_module:
        raise ConfigError(_SERVICE, of_client, f"serviceName of {_JAAS} is another one, {of_module}; give one of them")
    if not (of_client or of_module):
        raise ConfigError(f"{_SERVICE} is missing: the first part of the brokers' principals, usually kafka")
    return of_client or of_module
