"""Settings of Java's clients: what each becomes in librdkafka."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.api.config import ConfigDef
from penstock.api.errors import ConfigError
from penstock.core.config.clients import ADMIN_SETTINGS, CONSUMER_SETTINGS, PRODUCER_SETTINGS
from penstock.core.config.clients.settings import NO_REPORTERS, OF_REPORTERS
from penstock.doctor.findings import NOT_RESOLVED, Finding, Verdict
from penstock.kafka.librdkafka_config import ADMIN, CONSUMER, IGNORED, NO_EFFECT, PRODUCER, Counterpart, translate
from penstock.kafka.security.settings import SECURITY, Security
from penstock.kafka.security.tickets import check_libraries
from penstock.settings.providers import has_reference

DEFINITIONS: Mapping[str, ConfigDef] = {
    "producer": PRODUCER_SETTINGS, "consumer": CONSUMER_SETTINGS, "admin": ADMIN_SETTINGS
}  # fmt: skip
COUNTERPARTS: Mapping[str, Mapping[str, Counterpart]] = {
    "producer": PRODUCER | SECURITY, "consumer": CONSUMER | SECURITY, "admin": ADMIN | SECURITY
}  # fmt: skip


def judge_client(client: str, prefix: str, settings: Mapping[str, str]) -> Iterator[Finding]:
    """``settings`` without their prefix; values that refer to config providers are not checked."""
    for name, value in settings.items():
        yield _judge(client, prefix + name, name, value)
    if settings.get("security.protocol", "PLAINTEXT").upper() != "PLAINTEXT" and not _has_references(settings):
        try:
            login = Security.of(settings).login
            if login is not None and login.kerberos is not None:
                check_libraries()
        except ConfigError as error:
            yield Finding(Verdict.REFUSED, f"{prefix}security.protocol", str(error))


def _judge(client: str, shown: str, name: str, value: str) -> Finding:
    definition, counterparts = DEFINITIONS[client], COUNTERPARTS[client]
    if name.startswith(OF_REPORTERS):
        return Finding(Verdict.DIFFERS, shown, f"has no effect: {NO_REPORTERS}")
    if name not in definition.keys:
        return Finding(Verdict.DIFFERS, shown, f"Kafka's {client}s have no such setting; it has no effect")
    counterpart = counterparts.get(name, IGNORED)
    if counterpart.ignored:
        return Finding(Verdict.DIFFERS, shown, f"has no effect: {counterpart.ignored}")
    if has_reference(value):
        return Finding(Verdict.UNCHECKED, shown, NOT_RESOLVED)
    try:
        native = translate({name: value}, definition, counterparts, client)
    except ConfigError as error:
        return Finding(Verdict.REFUSED, shown, str(error))
    if counterpart is NO_EFFECT or not counterpart.to:
        return Finding(Verdict.WORKS, shown)
    secret = definition.keys[name].type.name == "PASSWORD"
    became = ", ".join(key if secret else f"{key}={text}" for key, text in native.items())
    same = not native or {key: str(text) for key, text in native.items()} == {name: value}
    return Finding(Verdict.WORKS, shown, "" if same else f"in librdkafka {became}")


def _has_references(settings: Mapping[str, str]) -> bool:
    return any(map(has_reference, settings.values()))
