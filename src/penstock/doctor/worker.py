"""The settings of a Java worker, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.api.config import ConfigDef, with_prefix
from penstock.api.errors import ConfigError
from penstock.core.config.catalog import Catalog
from penstock.core.config.converter import CONVERTERS
from penstock.doctor.clients import judge_client
from penstock.doctor.findings import NOT_RESOLVED, Finding, Section, Verdict
from penstock.doctor.plugins import judge_class
from penstock.http.access.authentication.basic_auth import EXTENSION
from penstock.settings.definitions import distributed_config, standalone_config
from penstock.settings.providers import has_reference
from penstock.settings.unsupported_settings import refuse_java_only, unknown_settings, without_effect

CLIENTS = ("producer", "consumer", "admin")
_EXTENSIONS = "rest.extension.classes"


def judge_worker(title: str, config: Mapping[str, str], catalog: Catalog, standalone: bool) -> Section:
    definitions = standalone_config() if standalone else distributed_config()
    return Section(title, tuple(_findings(config, catalog, definitions)))


def _findings(config: Mapping[str, str], catalog: Catalog, definitions: ConfigDef) -> Iterator[Finding]:
    known = set(distributed_config().keys) | set(standalone_config().keys)
    prefixes = {client: with_prefix(config, f"{client}.") for client in CLIENTS}
    of_clients = {f"{client}.{name}" for client, given in prefixes.items() for name in given} - known
    errors = _errors(config, definitions)
    for name, value in config.items():
        if name in of_clients:
            continue
        yield _judge(name, value, errors.pop(name, None), known)
    for name, error in errors.items():
        yield Finding(Verdict.REFUSED, name, error)
    for client, given in prefixes.items():
        own = {name: value for name, value in given.items() if f"{client}.{name}" in of_clients}
        yield from judge_client(client, f"{client}.", own)
    for key in CONVERTERS:
        if given_class := config.get(key):
            yield judge_class(catalog, key, given_class)
    for provider in _listed(config.get("config.providers")):
        key = f"config.providers.{provider}.class"
        if given_class := config.get(key):
            yield judge_class(catalog, key, given_class)


def _judge(name: str, value: str, error: str | None, known: set[str]) -> Finding:
    if has_reference(value):
        return Finding(Verdict.UNCHECKED, name, NOT_RESOLVED)
    if error is not None:
        return Finding(Verdict.REFUSED, name, error)
    try:
        refuse_java_only({name: value})
    except ConfigError as refused:
        return Finding(Verdict.REFUSED, name, str(refused))
    if name == _EXTENSIONS and (others := [each for each in _listed(value) if each != EXTENSION]):
        why = (
            "extensions in Java can't run here; leave it out, and see `penstock.authentication.*` and "
            "`penstock.authorization.file`"
        )
        return Finding(Verdict.REFUSED, name, f"{', '.join(others)}: {why}")
    for sentence in without_effect({name: value}) + unknown_settings({name: value}, known):
        return Finding(Verdict.DIFFERS, name, sentence)
    return Finding(Verdict.WORKS, name)


def _errors(config: Mapping[str, str], definitions: ConfigDef) -> dict[str, str]:
    given = {name: value for name, value in config.items() if not has_reference(value)}
    values = definitions.validate_all(given)
    hidden = config.keys() - given.keys()
    return {name: found.errors[0] for name, found in values.items() if found.errors and name not in hidden}


def _listed(value: str | None) -> list[str]:
    return [each.strip() for each in (value or "").split(",") if each.strip()]
