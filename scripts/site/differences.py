"""The tables of the page "Differences from Java Connect", made from the code."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from penstock.api.config import ConfigDef, to_text
from penstock.api.errors import ConfigError
from penstock.commands._reference import Reference
from penstock.core.config.clients import ADMIN_SETTINGS, CONSUMER_SETTINGS, PRODUCER_SETTINGS
from penstock.kafka.clients import ADMIN_DEFAULTS, CONSUMER_DEFAULTS, PRODUCER_DEFAULTS
from penstock.kafka.librdkafka_config import ADMIN, CONSUMER, PRODUCER, Counterpart, translate
from penstock.kafka.security.settings import SECURITY
from penstock.plugins import Plugins
from penstock.settings.unsupported_settings import JAVA_ONLY, WITHOUT_EFFECT

CLIENTS: Mapping[str, tuple[ConfigDef, Mapping[str, Counterpart], Mapping[str, object]]] = {
    "producer": (PRODUCER_SETTINGS, PRODUCER | SECURITY, PRODUCER_DEFAULTS),
    "consumer": (CONSUMER_SETTINGS, CONSUMER | SECURITY, CONSUMER_DEFAULTS),
    "admin client": (ADMIN_SETTINGS, ADMIN | SECURITY, ADMIN_DEFAULTS),
}


def tables() -> str:
    return "\n\n".join(
        [
            "## Settings of a worker that are refused",
            _table(("setting", "why"), [(f"`{name}`", why) for name, why in JAVA_ONLY.items()]),
            "## Settings of a worker without effect",
            "They are checked as in Java; another value than the default is logged once.",
            _table(
                ("setting", "default", "why"),
                [
                    (f"`{name}`", f"`{default}`" if default else "none", why)
                    for name, (default, why) in WITHOUT_EFFECT.items()
                ],
            ),
            "## Defaults of clients",
            "Where nothing is set. The other defaults are Java's.",
            _table(("client", "setting", "Java", "here, in librdkafka"), _defaults()),
            "## Settings of clients without effect",
            "A warning says so once, if they are set.",
            _table(("client", "settings"), _ignored()),
            "## Settings of Penstock's own",
            _table(("of", "setting", "default", "meaning"), _own()),
        ]
    )


def note(owner: str, setting: str) -> str:
    """What differs from Java Connect, in a sentence; nothing of plugins, which say it themselves."""
    if setting.startswith("penstock."):
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
    ignored = dict.fromkeys(_without_effect(definition, counterparts), "Without effect here.")
    return ignored | {
        setting: f"Default here: {ours}." for each, setting, _, ours in _other_defaults() if each == client
    }


def _defaults() -> Iterator[tuple[str, ...]]:
    for client, setting, java, ours in _other_defaults():
        yield client, f"`{setting}`", f"`{java}`", ours


def _other_defaults() -> Iterator[tuple[str, str, str, str]]:
    """Client, setting, Java's default, and ours."""
    for client, (definition, counterparts, ours) in CLIENTS.items():
        for name, key in definition.keys.items():
            counterpart = counterparts.get(name)
            if key.required or key.default is None or counterpart is None or not counterpart.to:
                continue
            try:
                java = translate({name: key.default}, definition, counterparts, client)
            except ConfigError:
                continue
            for native, value in java.items():
                if native in ours and ours[native] != value:
                    yield client, name, to_text(key.default, key.type) or "", f"`{native}={ours[native]}`"


def _ignored() -> Iterator[tuple[str, ...]]:
    for client, (definition, counterparts, _) in CLIENTS.items():
        yield client, ", ".join(f"`{name}`" for name in _without_effect(definition, counterparts))


def _without_effect(definition: ConfigDef, counterparts: Mapping[str, Counterpart]) -> list[str]:
    return [name for name in definition.keys if name not in counterparts or counterparts[name].ignored]


def _own() -> Iterator[tuple[str, ...]]:
    seen = set()
    for owner in Reference(Plugins.discover().catalog).owners:
        for key in owner.settings.values():
            if key.name.startswith("penstock.") and (owner.name, key.name) not in seen:
                seen.add((owner.name, key.name))
                info = key.info()
                default = "required" if info.required else f"`{info.default_value}`"
                yield owner.name, f"`{key.name}`", default, html.escape(info.documentation, quote=False)


def _table(header: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    titles = list(header)
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    lines += [f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in rows]
    return "\n".join(lines)
