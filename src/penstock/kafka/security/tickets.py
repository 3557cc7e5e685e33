"""The Kerberos tickets of this process, which both client libraries use: in memory, and renewed by libkrb5 itself.

Java's clients have tickets each; here a process logs in as one principal, since librdkafka's SASL library takes the
process's default tickets. libkrb5 renews tickets from a keytab whenever a client connects after half of their life.
"""

from __future__ import annotations

import functools
import importlib
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException, Producer, libversion

from penstock.api.errors import ConfigError, ConnectError
from penstock.kafka.security.kerberos import Kerberos
from penstock.kafka.security.settings import Security

_MECHANISM = ("sasl.mechanism", "GSSAPI")
_CACHE = "MEMORY:penstock"
_lock = threading.Lock()
_current: Kerberos | None = None


def log_in(java: Mapping[str, Any]) -> None:
    """Get tickets for a client with these settings, if it needs any and this process has none yet. May block.

    Raises ConfigError if this machine lacks what it takes or if this process is somebody else; ConnectError if the
    login fails.
    """
    global _current
    if not str(java.get("security.protocol", "")).strip().upper().startswith("SASL_"):
        return
    login = Security.of(java).login
    if login is None or login.kerberos is None:
        return
    wanted = login.kerberos
    with _lock:
        if _current is None:
            check_libraries()
            _obtain(wanted)
            _current = wanted
        elif _current.identity != wanted.identity:
            here = _current.principal or "the owner of a ticket cache"
            raise ConfigError(
                "sasl.jaas.config",
                "[hidden]",
                f"This process is logged in as {here}, and can't be {wanted.principal or 'somebody else'} as well: "
                "with Kerberos all clients of a worker and of its tasks need the same principal and keytab",
            )


def check_libraries() -> None:
    """Raises ConfigError that says what to install on this machine."""
    try:
        importlib.import_module("gssapi")
    except ImportError as error:
        raise ConfigError(
            *_MECHANISM,
            f"Kerberos needs the extra `kerberos` ({error}): pip install 'penstock[kerberos]'. It compiles gssapi, for "
            "which Debian has the packages gcc python3-dev libkrb5-dev, RHEL gcc python3-devel krb5-devel",
        ) from error
    if not librdkafka_has_gssapi():
        raise ConfigError(
            *_MECHANISM,
            f"librdkafka {libversion()[0]} of the installed confluent-kafka is built without GSSAPI, as in all "
            "wheels of PyPI. Build librdkafka with libsasl2 (Debian: libsasl2-dev, RHEL: cyrus-sasl-devel), then run: "
            "pip install --force-reinstall --no-binary confluent-kafka confluent-kafka (docs/security.md, Kerberos)",
        )


@functools.cache
def librdkafka_has_gssapi() -> bool:
    try:
        Producer({"builtin.features": "sasl_gssapi", "log_level": 0})
    except KafkaException:
        return False
    return True


def _obtain(wanted: Kerberos) -> None:
    gssapi: Any = importlib.import_module("gssapi")
    if wanted.keytab:
        _check_readable(wanted.keytab)
        store = {"client_keytab": f"FILE:{wanted.keytab}", "ccache": _CACHE}
    else:
        store = {"ccache": wanted.cache} if wanted.cache else {}
    try:
        kerberos = gssapi.MechType.kerberos
        principal = wanted.principal
        name = gssapi.Name(principal, gssapi.NameType.kerberos_principal) if principal else None
        tickets = gssapi.Credentials(name=name, usage="initiate", mechs=[kerberos], store=store or None)
        seconds = tickets.lifetime  # this asks the key distribution center
    except gssapi.exceptions.GSSError as error:
        reasons = "; ".join(error.get_all_statuses(error.min_code, False))
        who = principal or "the owner of the tickets"
        where, program = (wanted.keytab, "klist -k") if wanted.keytab else (wanted.cache, "klist")
        raise ConnectError(
            f"Kerberos login of {who} failed: {reasons}. `{program} {where}".rstrip() + "` shows what is there"
        ) from error
    if seconds == 0:
        raise ConnectError(f"The tickets of {wanted.principal or 'the ticket cache'} have expired: run kinit")
    if wanted.keytab:
        _set("KRB5_CLIENT_KTNAME", f"FILE:{wanted.keytab}")
    if wanted.keytab or wanted.cache:
        _set("KRB5CCNAME", store["ccache"])


def _check_readable(keytab: str) -> None:
    try:
        with Path(keytab).open("rb"):
            pass
    except OSError as error:
        raise ConfigError("sasl.jaas.config", "[hidden]", f"keyTab={keytab} can't be read: {error.strerror}") from error


def _set(variable: str, value: str) -> None:
    """For the libraries of this process. ``os.environ`` stays as it was, which child processes get: memory is not
    theirs to see, and Spark may have a login of its own.
    """
    os.putenv(variable, value)
