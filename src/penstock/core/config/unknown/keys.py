"""Detection of settings that nothing reads: misspelt, for another plugin, or made useless by another setting.

Java ignores them silently. Here validation has a sentence for each, with the settings that may be meant; with
``penstock.config.strict=true`` the sentences are errors, except where a setting may have an effect after all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from penstock.api.config import ConfigDef
from penstock.core.config.catalog import Catalog, PluginClass
from penstock.core.config.connector import LABELS
from penstock.core.config.converter import CONVERTERS
from penstock.core.config.overrides import CLIENT_SETTINGS, CONSUMER, PRODUCER
from penstock.core.config.setting import Props
from penstock.core.config.unknown.similar_names import misspelt_prefix, near_misses, question, similar
from penstock.core.topic_creation.rules import DEFAULT, GROUPS, RULES
from penstock.core.topic_creation.rules import PREFIX as TOPIC_CREATION

_BYTES = {
    f"{PRODUCER}key.serializer": "ByteArraySerializer",
    f"{PRODUCER}value.serializer": "ByteArraySerializer",
    f"{CONSUMER}key.deserializer": "ByteArrayDeserializer",
    f"{CONSUMER}value.deserializer": "ByteArrayDeserializer",
}
"""Settings of clients whose records are bytes, and the end of the only value that has an effect."""
_MAX_JUDGED = 500
"""Names that are judged; finding similar names takes a millisecond for each."""
_CONVERTERS = tuple(f"{use}." for use in CONVERTERS)
_ALIASES = ("transforms.", "predicates.")


@dataclass(frozen=True, slots=True)
class Defined:
    """Settings that a connector has."""

    config: ConfigDef
    """Settings of the runtime, and of the transforms and predicates that the connector names."""
    own: ConfigDef
    """Settings of the connector; a connector that defines none may read any."""
    prefixes: tuple[str, ...]
    """``Connector.setting_prefixes``."""
    clients: Collection[str]
    """Prefixes of the clients that the connector has, such as ``producer.override.``."""
    exactly_once: bool = False
    """Whether it is a source of a worker with exactly once."""
    optional: Collection[str] = ()
    """Settings of the runtime that are not in ``config`` unless they are given."""
    without_effect: Mapping[str, str] = field(default_factory=dict)
    """Sentences about settings in ``config`` that another setting leaves without effect, by name."""
    deprecated: Mapping[str, str] = field(default_factory=dict)
    """Reasons why settings in ``config`` are deprecated, by name."""


@dataclass(frozen=True, slots=True)
class UnknownKey:
    sentence: str
    certain: bool = True
    """Whether the setting can be refused; False if the connector may read such settings without defining them."""


def unknown_keys(props: Props, defined: Defined, catalog: Catalog) -> dict[str, UnknownKey]:
    """Return what to say about each setting that has no effect or is deprecated, by name, in the given order."""
    return dict(_Look(props, defined, catalog).sentences())


@dataclass(frozen=True, slots=True)
class _Look:
    props: Props
    defined: Defined
    catalog: Catalog

    def sentences(self) -> Iterator[tuple[str, UnknownKey]]:
        known = self.defined.config.keys.keys() | self.defined.own.keys.keys()
        useless, deprecated = self.defined.without_effect, self.defined.deprecated
        names = (name for name in self.props if name not in known or name in deprecated or name in useless)
        for name in islice(names, _MAX_JUDGED):
            if name in deprecated:
                yield name, UnknownKey(f"'{name}' is deprecated: {deprecated[name]}")
            elif name in useless:
                yield name, UnknownKey(useless[name])
            elif found := self._judge(name, known | set(self.defined.optional)):
                yield name, found

    def _judge(self, name: str, known: Collection[str]) -> UnknownKey | None:
        """Return None for a setting that something may read."""
        families: list[tuple[tuple[str, ...], Callable[[str], str | None]]] = [
            (_CONVERTERS, self._of_converter),
            (tuple(CLIENT_SETTINGS), self._of_client),
            (_ALIASES, self._of_alias),
            ((TOPIC_CREATION,), self._of_topic_creation),
            ((LABELS,), lambda _: None),
        ]
        for prefixes, judge in families:
            if name.startswith(prefixes) or (name == RULES and TOPIC_CREATION in prefixes):
                sentence = judge(name)
                return UnknownKey(sentence) if sentence else None
        return self._of_connector(name, known)

    def _of_connector(self, name: str, known: Collection[str]) -> UnknownKey | None:
        """Judge a setting of no family.

        A near miss of a defined name is misspelt, even if the connector reads names that it does not define.
        """
        nothing = f"'{name}' is no setting of this connector and has no effect"
        if near := near_misses(name, known):
            return UnknownKey(nothing + question(near), certain=bool(self.defined.own.keys))
        named = tuple(filter(None, self.defined.prefixes))
        if name.startswith(named):
            return None
        near = misspelt_prefix(name, (*named, *_CONVERTERS, *CLIENT_SETTINGS, *_ALIASES, TOPIC_CREATION, LABELS))
        if not self.defined.own.keys:
            return UnknownKey(nothing + question(near), certain=False) if near else None
        meant = question(near or similar(name, known))
        if "" in self.defined.prefixes:
            return UnknownKey(f"'{name}' is no setting that this connector defines; it may read it{meant}", False)
        return UnknownKey(nothing + meant)

    def _of_topic_creation(self, name: str) -> str | None:
        if GROUPS not in self.defined.config.keys:
            return f"'{name}' has no effect: topics are created by rules for source connectors only"
        return _unknown_topic_setting(name, self.props)

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
        prefix = next(prefix for prefix in CLIENT_SETTINGS if name.startswith(prefix))
        client = prefix.partition(".")[0]
        what = "an admin client" if client == "admin" else f"a {client}"
        if prefix not in self.defined.clients:
            return f"'{name}' has no effect: this connector has no {client}"
        if why := self._overridden(name, (self.props[name] or "").strip()):
            return f"'{name}' is overridden and has no effect: {why}"
        return self._among(name, prefix, CLIENT_SETTINGS[prefix].keys, f"of {what}")

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
    """Return the settings of a plugin; None if it raises, which its validation reports."""
    try:
        return found.config_def().keys
    except Exception:
        return None


def _meant(name: str, known: Collection[str], prefix: str = "") -> str:
    """Return the question for the names most like this one; all begin with the prefix, which is not compared."""
    close = similar(name.removeprefix(prefix), {each.removeprefix(prefix) for each in known})
    return question(prefix + each for each in close)


def _short(found: PluginClass) -> str:
    return found.java_name.rpartition(".")[2]


_ENABLE = "topic.creation.enable"
_OF_GROUPS = ("include", "exclude", "partitions", "replication.factor")
_OF_RULES = ("regex", "partitions", "replication.factor")
_OF_DEFAULT = {f"{TOPIC_CREATION}{DEFAULT}.include": ".*", f"{TOPIC_CREATION}{DEFAULT}.exclude": ""}
"""Settings of the group ``default`` that have no effect, with the values that say what the group matches."""
_OF_TOPICS = (
    "cleanup.policy",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "delete.retention.ms",
    "file.delete.delay.ms",
    "flush.messages",
    "flush.ms",
    "follower.replication.throttled.replicas",
    "index.interval.bytes",
    "leader.replication.throttled.replicas",
    "local.retention.bytes",
    "local.retention.ms",
    "max.compaction.lag.ms",
    "max.message.bytes",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.type",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "min.insync.replicas",
    "preallocate",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "remote.storage.enable",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "segment.index.bytes",
    "segment.jitter.ms",
    "segment.ms",
    "unclean.leader.election.enable",
)
"""Settings of Kafka's topics. The broker may know more: it judges a name that is like none of these."""


def _unknown_topic_setting(name: str, props: Props) -> str | None:
    """Return what is wrong with a setting ``topic.creation.*`` of a source; None if it may have an effect.

    A setting that names no rule of the draft's is left to ``check_draft``, which refuses it.
    """
    if name == RULES:
        return None
    if name == _ENABLE:
        return f"'{name}' is a setting of the worker and has no effect on a connector"
    draft = RULES in props
    listed = [each.strip() for each in (props.get(RULES if draft else GROUPS) or "").split(",")]
    owners = [*filter(None, listed), *([] if draft else [DEFAULT])]
    rest = name.removeprefix(TOPIC_CREATION)
    owner = max((each for each in owners if rest.startswith(f"{each}.")), key=len, default=None)
    if name in _OF_DEFAULT and not draft and (props[name] or "").strip() != _OF_DEFAULT[name]:
        return f"'{name}' has no effect: group '{DEFAULT}' is for all topics that no other group matches"
    if owner is not None:
        prefix = f"{TOPIC_CREATION}{owner}."
        known = [*(_OF_RULES if draft else _OF_GROUPS), *_OF_TOPICS]
        meant = [] if rest.removeprefix(f"{owner}.") in known else near_misses(rest.removeprefix(f"{owner}."), known)
        return f"'{name}' is no setting of topics{question(prefix + each for each in meant)}" if meant else None
    if draft:
        return None
    head, _, setting = rest.partition(".")
    if not setting:
        return f"'{name}' is no setting of this connector and has no effect{question(similar(name, [GROUPS]))}"
    proposed = (f"{TOPIC_CREATION}{each}.{setting}" for each in similar(head, owners))
    return f"'{name}' has no effect: '{GROUPS}' does not name '{head}'{question(proposed)}"
