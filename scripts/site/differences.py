"""The tables of the page "Differences from Java Connect", made from the code."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator

from penstock.commands._meaning import CLIENTS, other_defaults, ours, without_effect
from penstock.commands._reference import SettingReference
from penstock.plugins import Plugins
from penstock.settings.unsupported_settings import JAVA_ONLY, WITHOUT_EFFECT


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
            "Its plugins, whose names begin with `penstock.`, are on the pages of the reference.",
            _table(("of", "setting", "default", "meaning"), _own()),
        ]
    )


def _defaults() -> Iterator[tuple[str, ...]]:
    for client, setting, java, default in other_defaults():
        yield client, f"`{setting}`", f"`{java}`", default


def _ignored() -> Iterator[tuple[str, ...]]:
    for client, (definition, counterparts, _) in CLIENTS.items():
        yield client, ", ".join(f"`{name}`" for name in without_effect(definition, counterparts))


def _own() -> Iterator[tuple[str, ...]]:
    """Return the settings except those of Penstock's own plugins, which have separate pages."""
    seen = set()
    for owner in SettingReference(Plugins.discover().catalog).owners:
        if owner.name.startswith("penstock."):
            continue
        for key in owner.settings.values():
            if ours(owner.name, key.name) and (owner.name, key.name) not in seen:
                seen.add((owner.name, key.name))
                info = key.info()
                default = "required" if info.required else f"`{info.default_value}`"
                yield owner.name, f"`{key.name}`", default, html.escape(info.documentation, quote=False)


def _table(header: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    titles = list(header)
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    lines += [f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in rows]
    return "\n".join(lines)
