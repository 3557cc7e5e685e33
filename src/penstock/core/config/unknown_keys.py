"""Settings of a connector that nothing reads: misspelt, for another plugin, or hidden by another setting.

Java ignores them silently. Here validation has a sentence for each, with the settings that may be meant; with
``penstock.config.strict=true`` the sentences are errors.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from penstock.api.config import ConfigDef
from penstock.core.config.catalog import Catalog, PluginClass
from penstock.core.config.clients import ADMIN_SETTINGS, CONSUMER_SETTINGS, PRODUCER_SETTINGS
from penstock.core.config.converter import CONVERTERS
from penstock.core.config.overrides import ADMIN, CONSUMER, PRODUCER

Props = Mapping[str, str | None]

STRICT = "penstock.config.strict"
CLIENTS = {PRODUCER: PRODUCER_SETTINGS, CONSUMER: CONSUMER_SETTINGS, ADMIN: ADMIN_SETTINGS}
TOPIC_CREATION = "topic.creation."
LABELS = "penstock.labels."
"""Labels of a connector, by which commands select it; any name may follow."""
_DEPRECATED = {"tasks.max.enforce": "Kafka Connect has announced its removal"}
_BYTES = {
    f"{PRODUCER}key.serializer": "ByteArraySerializer",
    f"{PRODUCER}value.serializer": "ByteArraySerializer",
    f"{CONSUMER}key.deserializer": "ByteArrayDeserializer",
    f"{CONSUMER}value.deserializer": "ByteArrayDeserializer",
}
"""Settings of clients whose records are bytes, and the end of the only value that is true."""
_MOST = 500
"""Names that are judged; finding out what may be meant takes a millisecond for each."""
_CLOSE = 0.8
"""How similar a name must be to be proposed; of ``difflib``, 1.0 for equal ones."""


@dataclass(frozen=True, slots=True)
class Defined:
    """What is known of a connector's settings."""

    config: ConfigDef
    """The runtime's own, with those of the transforms and predicates that the connector names."""
    own: ConfigDef
    """The connector's; a connector that defines none may read any."""
    prefixes: tuple[str, ...]
    """``Connector.setting_prefixes``."""
    clients: Collection[str]
    """The prefixes of the clients that the connector has, such as ``producer.override.``."""
    exactly_once: bool = False
    """Whether it is a source of a worker with exactly once."""


def unknown_keys(props: Props, defined: Defined, catalog: Catalog) -> dict[str, str]:
    """A sentence for each setting that has no effect or is deprecated, by its name, in the order given."""
    return dict(_Look(props, defined, catalog).sentences())


@dataclass(frozen=True, slots=True)
class _Look:
    props: Props
    defined: Defined
    catalog: Catalog

    def sentences(self) -> Iterator[tuple[str, str]]:
        known = self.defined.config.keys.keys() | self.defined.own.keys.keys()
        names = (name for name in self.props if name not in known or name in _DEPRECATED)
        for name in islice(names, _MOST):
            if name in _DEPRECATED:
                yield name, f"'{name}' is deprecated: {_DEPRECATED[name]}"
            elif sentence := self._judge(name, known):
                yield name, sentence

    def _judge(self, name: str, known: Collection[str]) -> str | None:
        """None for a setting that something may read."""
        families: list[tuple[tuple[str, ...], Callable[[str], str | None]]] = [
            (tuple(f"{use}." for use in CONVERTERS), self._of_converter),
            (tuple(CLIENTS), self._of_client),
            (("transforms.", "predicates."), self._of_alias),
            ((TOPIC_CREATION, LABELS, *self.defined.prefixes), lambda _: None),
        ]
        for prefixes, judge in families:
            if name.startswith(prefixes):
                return judge(name)
        if not self.defined.own.keys:
            return None
        return f"'{name}' is no setting of this connector and has no effect{_meant(name, known)}"

    def _of_converter(self, name: str) -> str | None:
        use = next(use for use in CONVERTERS if name.startswith(f"{use}."))
        named = self.props.get(use)
        if named is None:
            return (
                f"'{name}' has no effect: the connector does not name a '{use}', so the worker's is used, "
                "with the worker's settings"
            )
        found = self.catalog.load(named.strip())
        config = None if found is None else _settings(found)
        return None if found is None or config is None else self._among(name, f"{use}.", config, f"of {_short(found)}")

    def _of_client(self, name: str) -> str | None:
        prefix = next(prefix for prefix in CLIENTS if name.startswith(prefix))
        client = prefix.partition(".")[0]
        what = "an admin client" if client == "admin" else f"a {client}"
        if prefix not in self.defined.clients:
            return f"'{name}' has no effect: this connector has no {client}"
        if why := self._overridden(name, (self.props[name] or "").strip()):
            return f"'{name}' is overridden and has no effect: {why}"
        return self._among(name, prefix, CLIENTS[prefix].keys, f"of {what}")

    def _overridden(self, name: str, value: str) -> str | None:
        if name in _BYTES and not value.endswith(_BYTES[name]):
            return "converters make the bytes of records"
        if self.defined.exactly_once and name == f"{PRODUCER}transactional.id":
            return "with exactly once each task has an id of its own"
        if self.defined.exactly_once and name == f"{PRODUCER}enable.idempotence" and value.lower() != "true":
            return "exactly once needs true"
        return None

    def _of_alias(self, name: str) -> str | None:
        key, _, rest = name.partition(".")
        alias = rest.partition(".")[0]
        aliases = [each.strip() for each in (self.props.get(key) or "").split(",")]
        if alias not in aliases:
            return f"'{name}' has no effect: '{key}' does not name '{alias}'{_meant(alias, [*filter(None, aliases)])}"
        found = self.catalog.load((self.props.get(f"{key}.{alias}.type") or "").strip())
        if found is None or not _settings(found):
            return None
        known = {each for each in self.defined.config.keys if each.startswith(f"{key}.{alias}.")}
        return f"'{name}' is no setting of {_short(found)} and has no effect{_meant(name, known, f'{key}.{alias}.')}"

    @staticmethod
    def _among(name: str, prefix: str, config: Collection[str], owner: str) -> str | None:
        if not config or name.removeprefix(prefix) in config:
            return None
        known = [prefix + each for each in config]
        return f"'{name}' is no setting {owner} and has no effect{_meant(name, known, prefix)}"


def _settings(found: PluginClass) -> Collection[str] | None:
    """The settings of a plugin; None if it can't tell, which its validation reports."""
    try:
        return found.config_def().keys
    except Exception:
        return None


def _meant(name: str, known: Collection[str], prefix: str = "") -> str:
    """The names most like this one; they all begin with the prefix, which is not compared."""
    rest = {each.removeprefix(prefix) for each in known}
    close = difflib.get_close_matches(name.removeprefix(prefix), sorted(rest), 2, _CLOSE)
    joined = "' or '".join(prefix + each for each in close)
    return f". Did you mean '{joined}'?" if close else ""


def _short(found: PluginClass) -> str:
    return found.java_name.rpartition(".")[2]
