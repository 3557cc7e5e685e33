"""The configuration of a connector: its classes, its clients, and what validation says of the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from penstock.api.config import with_prefix
from penstock.api.errors import ConnectError
from penstock.core.config.catalog import Kind
from penstock.core.config.connector import CONNECTOR_CLASS
from penstock.core.config.overrides import ADMIN, CONSUMER, PRODUCER
from penstock.core.config.permissions.rules import plugins_in
from penstock.core.config.validation import WorkerRules
from penstock.core.model.messages import Refused
from penstock.doctor.clients import judge_client
from penstock.doctor.findings import NOT_RESOLVED, Finding, Section, Verdict
from penstock.doctor.plugins import judge_class
from penstock.plugins import Plugins
from penstock.settings.providers import has_reference

_OVERRIDES = {PRODUCER: "producer", CONSUMER: "consumer", ADMIN: "admin"}


@dataclass(frozen=True, slots=True)
class Judge:
    plugins: Plugins
    rules: WorkerRules

    def connector(self, name: str, config: Mapping[str, str], facts: tuple[str, ...] = ()) -> Section:
        return Section(f"Connector {name}", tuple(self._findings({"name": name, **config})), facts)

    def is_sink(self, config: Mapping[str, str]) -> bool:
        """Return whether a connector is a sink; for a class that is not installed its configuration decides."""
        found = self.plugins.catalog.load((config.get(CONNECTOR_CLASS) or "").strip())
        if found is None:
            return "topics" in config or "topics.regex" in config
        return Kind.SINK in found.kinds

    def _findings(self, config: Mapping[str, str]) -> Iterator[Finding]:
        catalog = self.plugins.catalog
        classes = [judge_class(catalog, key, given) for key, given in plugins_in(config)]
        yield from classes
        for prefix, client in _OVERRIDES.items():
            yield from judge_client(client, prefix, with_prefix(config, prefix))
        if not any(each.verdict.blocks for each in classes):
            yield from self._validation(config)

    def _validation(self, config: Mapping[str, str]) -> Iterator[Finding]:
        """Judge the settings, but for references to config providers.

        With such a reference the connector's own validation is not run, since it may send the text of the reference to
        the system that it connects to.
        """
        references = [name for name, value in config.items() if has_reference(value)]
        for name in references:
            yield Finding(Verdict.UNCHECKED, name, NOT_RESOLVED)
        if references:
            why = f"what the connector itself validates, since it would get the reference in {references[0]} as it is"
            yield Finding(Verdict.UNCHECKED, CONNECTOR_CLASS, why)
        try:
            infos = self.plugins.validate(config, self.rules, config, by_connector=not references)
        except (Refused, ConnectError) as error:
            yield Finding(Verdict.REFUSED, CONNECTOR_CLASS, str(error))
            return
        for info in infos.configs:
            value = info.value
            if value is not None and value.errors and not has_reference(config.get(value.name)):
                yield Finding(Verdict.REFUSED, value.name, "; ".join(value.errors))
        for warning in infos.warnings:
            yield Finding(Verdict.DIFFERS, warning.split("'")[1] if "'" in warning else CONNECTOR_CLASS, warning)
