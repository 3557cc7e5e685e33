"""Texts of ``penstock help`` and the reference besides definitions, such as differences from Java Connect."""

from __future__ import annotations

import html
import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache

from penstock.api.config import ConfigDef, ConfigKey, to_text
from penstock.api.errors import ConfigError
from penstock.core.config.catalog import PluginClass
from penstock.core.config.clients import ADMIN_SETTINGS, CONSUMER_SETTINGS, PRODUCER_SETTINGS
from penstock.kafka.clients import ADMIN_DEFAULTS, CONSUMER_DEFAULTS, PRODUCER_DEFAULTS
from penstock.kafka.librdkafka_config import ADMIN, CONSUMER, PRODUCER, Counterpart, translate
from penstock.kafka.security.settings import SECURITY
from penstock.settings.unsupported_settings import JAVA_ONLY, WITHOUT_EFFECT

CLIENTS: Mapping[str, tuple[ConfigDef, Mapping[str, Counterpart], Mapping[str, object]]] = {
    "producer": (PRODUCER_SETTINGS, PRODUCER | SECURITY, PRODUCER_DEFAULTS),
    "consumer": (CONSUMER_SETTINGS, CONSUMER | SECURITY, CONSUMER_DEFAULTS),
    "admin client": (ADMIN_SETTINGS, ADMIN | SECURITY, ADMIN_DEFAULTS),
}
_OURS = {
    "a worker": ("spark.", "exactly.once.source.enabled", "java.security.auth.login.config"),
    "a source connector": ("topic.creation",),
    "a topic creation group of a source connector": ("regex",),
    "org.apache.kafka.connect.file.FileStreamSourceConnector": ("value.format", "on.origin.changed"),
    "org.apache.kafka.connect.mirror.MirrorSourceConnector": ("on.origin.changed",),
}
"""Settings that Java Connect lacks though their names are not ours, or, with a dot at the end, their prefixes."""


def ours(owner: str, setting: str) -> bool:
    """Whether Java Connect lacks it: the setting, or the plugin that has it."""
    if setting.startswith("penstock.") or owner.startswith("penstock."):
        return True
    return any(setting == each or (each.endswith(".") and setting.startswith(each)) for each in _OURS.get(owner, ()))


def note(owner: str, setting: str) -> str:
    """Return how a setting differs from Java Connect, as a sentence; the documentation of a plugin's settings includes
    it.
    """
    if ours(owner, setting):
        return "Not in Java Connect."
    if owner == "a worker" and setting in JAVA_ONLY:
        return f"Refused here: {JAVA_ONLY[setting]}."
    if owner == "a worker" and setting in WITHOUT_EFFECT:
        return f"Without effect here: {WITHOUT_EFFECT[setting][1]}."
    client = next((client for client in CLIENTS if owner == f"the {client.partition(' ')[0]} of a connector"), None)
    return "" if client is None else _notes(client).get(setting, "")


@cache
def _notes(client: str) -> Mapping[str, str]:
    definition, counterparts, _ = CLIENTS[client]
    ignored = dict.fromkeys(without_effect(definition, counterparts), "Without effect here.")
    return ignored | {
        setting: f"Default here: {default}." for each, setting, _, default in other_defaults() if each == client
    }


def other_defaults() -> Iterator[tuple[str, str, str, str]]:
    """Client, setting, Java's default, and ours."""
    for client, (definition, counterparts, defaults) in CLIENTS.items():
        for name, key in definition.keys.items():
            counterpart = counterparts.get(name)
            if key.required or key.default is None or counterpart is None or not counterpart.to:
                continue
            try:
                java = translate({name: key.default}, definition, counterparts, client)
            except ConfigError:
                continue
            for native, value in java.items():
                if native in defaults and defaults[native] != value:
                    yield client, name, to_text(key.default, key.type) or "", f"`{native}={defaults[native]}`"


def without_effect(definition: ConfigDef, counterparts: Mapping[str, Counterpart]) -> list[str]:
    """Settings of a client that nothing reads."""
    return [name for name in definition.keys if name not in counterparts or counterparts[name].ignored]


def description(plugin: PluginClass) -> str:
    """Return the first paragraph of the docstring of a plugin's class. Classes from jars have none."""
    own = inspect.cleandoc(vars(plugin.type).get("__doc__") or "") if isinstance(plugin.type, type) else ""
    return prose(own.partition("\n\n")[0].replace("``", "`"))


def valid(key: ConfigKey) -> str:
    """The values that it may have; empty where its type says all."""
    return "" if key.validator is None else prose(str(key.validator))


def prose(text: str) -> str:
    """Documentation without the tags of HTML: ``<code>`` becomes a back-quote. Names in angle brackets stay."""
    plain = re.sub(r"</?(code|p|br|ul|li|b|i|a)\b[^>]*>", lambda found: "`" if found[1] == "code" else " ", text)
    return html.unescape(re.sub(r"\s+", " ", plain)).strip()
