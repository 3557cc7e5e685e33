"""The pages of the reference, made from the code: settings, REST paths, commands."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from typing import Any

import typer

from penstock import cli
from penstock.commands import _meaning as meaning
from penstock.commands._reference import SettingOwner, SettingReference
from penstock.core.config.catalog import Kind
from penstock.http.openapi.document import OPERATIONS
from penstock.plugins import Plugins

_PLUGIN_PAGES = {
    "connectors": ("Connectors", (Kind.SOURCE, Kind.SINK)),
    "transforms": ("Transforms", (Kind.TRANSFORMATION,)),
    "predicates": ("Predicates", (Kind.PREDICATE,)),
    "converters": ("Converters", (Kind.CONVERTER, Kind.HEADER_CONVERTER)),
    "providers": ("Config providers", (Kind.CONFIG_PROVIDER,)),
}


def pages(**more: str) -> dict[str, str]:
    """Markdown, by the name of the page."""
    reference = SettingReference(Plugins.discover().catalog)
    runtime = [owner for owner in reference.owners if owner.plugin is None]
    made = {
        "worker": _page("Settings of a worker", _of(runtime, "worker")),
        "connector": _page("Settings of every connector", _of(runtime, "connector", "transform", "predicate")),
        "clients": _page("Settings of a connector's clients", _of(runtime, "of a connector")),
        "rest": _rest(),
        "commands": _commands(),
    }
    for name, (title, kinds) in _PLUGIN_PAGES.items():
        owners = [owner for owner in reference.owners if owner.plugin and set(owner.plugin.kinds) & set(kinds)]
        made[name] = _page(title, owners)
    made |= more
    titles = {name: text.partition("\n")[0].lstrip("# ") for name, text in made.items()}
    links = "\n".join(f"- [{title}]({name}.md)" for name, title in titles.items())
    return {**made, "index": f"# Reference\n\nMade from the code; `penstock help` prints the same.\n\n{links}\n"}


def _of(runtime: list[SettingOwner], *words: str) -> list[SettingOwner]:
    clients = words == ("of a connector",)
    chosen = [owner for owner in runtime if owner.name.endswith("of a connector") is clients]
    return [owner for owner in chosen if any(word in owner.name for word in words)]


def _page(title: str, owners: Iterable[SettingOwner]) -> str:
    seen: dict[str, list[SettingOwner]] = {}
    for owner in owners:
        seen.setdefault(owner.name, []).append(owner)
    parts = [f"# {title}"]
    for name, same in seen.items():
        prefixes = " or ".join(f"`{owner.prefix}` {owner.place}".rstrip() for owner in same if owner.prefix)
        parts.append(f"## {_heading(name)}")
        if same[0].plugin is not None:
            if text := meaning.description(same[0].plugin):
                parts.append(_prose(text))
            kinds = ", ".join(kind.interface for kind in same[0].plugin.kinds)
            parts.append(f"{kinds}, version {same[0].plugin.version}.")
        if prefixes:
            parts.append(f"Its settings begin with {prefixes}.")
        parts.append(_table(same[0]) if same[0].settings else "It defines no settings.")
    return "\n\n".join(parts) + "\n"


def _heading(name: str) -> str:
    return f"`{name}`" if "." in name else name[0].upper() + name[1:]


def _table(owner: SettingOwner) -> str:
    rows = ["| setting | type, default, importance | meaning |", "|---|---|---|"]
    for key in owner.settings.values():
        info = key.info()
        default = "**required**" if info.required else f"`{_cell(info.default_value)}`"
        valid = f"<br>Valid: {_cell(values)}" if (values := meaning.valid(key)) else ""
        kind = f"{info.type.lower()}, {default}, {info.importance.lower()}"
        differs = f"<br>*{_prose(text)}*" if (text := meaning.note(owner.name, key.name)) else ""
        rows.append(f"| `{key.name}` | {kind} | {_prose(info.documentation)}{valid}{differs} |")
    return "\n".join(rows)


def _cell(text: str | None) -> str:
    return "null" if text is None else html.escape(text, quote=False).replace("|", "&#124;") or '""'


def _prose(text: str) -> str:
    """Documentation is Markdown, or HTML where it is Java's; other angle brackets are names."""
    quoted = re.split(r"(`[^`]*`)", meaning.prose(text))
    return "".join(p if p.startswith("`") else html.escape(p, quote=False) for p in quoted).replace("|", "&#124;")


def _rest() -> str:
    parts = [
        "# REST interface",
        "Also at `GET /openapi.json` of a worker.",
        "| request | what for | answers |\n|---|---|---|",
    ]
    for name, operation in OPERATIONS.items():
        query = ", ".join(f"`{p['name']}`" for p in operation.get("parameters", ()) if p["in"] == "query")
        asked = f" Query: {query}." if query else ""
        answers = ", ".join(sorted(operation["responses"]))
        parts[-1] += f"\n| `{name}` | {operation['summary']}.{asked} | {answers} |"
    return "\n\n".join(parts) + "\n"


def _commands() -> str:
    root: Any = typer.main.get_command(cli.app)
    context = root.make_context("penstock", [], resilient_parsing=True)
    parts = [
        "# Commands",
        "Exit status: 0; 1 if something was refused; 2 for a wrong command line; 3 if there is no such connector, task "
        "or plugin; 4 if no worker can be reached; 130 for Ctrl-C; and what a command says of itself.",
        "`penstock worker`: 0 after SIGTERM; 1 if it fails while it runs; 2 for settings that can't be followed; 3 if "
        "it can't start, for instance with the connectors that a standalone worker is given.",
    ]
    for name in root.list_commands(context):
        parts += _command(f"penstock {name}", root.get_command(context, name))
    return "\n\n".join(parts) + "\n"


def _command(name: str, command: Any) -> Iterator[str]:
    yield f"## `{name}`"
    yield _prose(re.sub(r"\s*\n\s*", " ", (command.help or "").strip()))
    rows = [_parameter(each) for each in command.params if each.name not in ("help", *cli.COMPLETION)]
    if rows:
        yield "\n".join(["| argument or option | what for |", "|---|---|", *rows])
    for sub, each in getattr(command, "commands", {}).items():
        yield from _command(f"{name} {sub}", each)


def _parameter(parameter: Any) -> str:
    names = ", ".join(f"`{each}`" for each in parameter.opts if each.startswith("-"))
    shown = names or f"`{parameter.metavar or str(parameter.name).upper()}`"
    return f"| {shown} | {_prose(getattr(parameter, 'help', None) or '')} |"
