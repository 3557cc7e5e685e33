"""``penstock help``: what a setting means, or which settings a plugin has."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.commands import _commands as commands
from penstock.commands._output import As, OutputFormat, printed, say_lines
from penstock.commands._rest import complain

if TYPE_CHECKING:
    from penstock.api.config import ConfigKey
    from penstock.commands._reference import SettingOwner, SettingReference

app = typer.Typer()
WIDTH = 100
WHAT = """\
penstock help NAME explains, without a worker:
  a setting, as a configuration has it   penstock help value.converter.schemas.enable
  a plugin with its settings             penstock help JsonConverter
  a command                              penstock help offsets reset
`penstock --help` lists the commands, `penstock get plugins --all` the plugins of a worker."""


@app.command()
def help(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="A setting, as a configuration has it, the class or alias of a plugin, or a command, also of several "
            "words.",
        ),
    ] = None,
    plugin_path: Annotated[
        list[Path] | None, typer.Option(help="Folders with plugins, as in a worker's `plugin.path`.")
    ] = None,
    output: As = OutputFormat.TABLE,
) -> None:
    """Explain a setting of a worker, connector, transform, converter or client, a plugin with its settings, or a
    command.

    Needs no worker.
    """
    if not words:
        say_lines(WHAT.split("\n"))
        return
    name = " ".join(words)
    from penstock.commands._reference import SettingReference
    from penstock.plugins import Plugins

    reference = SettingReference(Plugins.discover([str(each) for each in plugin_path or ()]).catalog)
    owners = reference.plugins(name)
    settings = reference.settings(name)
    is_command = commands.find(context.parent, words) is not None
    if is_command and output is OutputFormat.TABLE:
        _print_command(context.parent, words)
        if not settings:
            return
    if not owners and not settings:
        text = f"`{name}` is a command, whose help is only text."
        complain(text if is_command else _unknown(reference, name, commands.names(context.parent)))
        raise typer.Exit(1)
    rows = [(owner, key) for owner in owners for key in owner.settings.values()] or settings
    if printed(output, [_document(owner, key) for owner, key in rows], dict.fromkeys(key.name for _, key in rows)):
        return
    if owners:
        say_lines("\n\n".join(_plugin(of) for _, of in groupby(owners, lambda owner: owner.plugin)).split("\n"))
    else:
        paragraphs = (_paragraph(name, of, text) for text, of in _grouped(name, settings).items())
        say_lines("\n\n".join(paragraphs).split("\n"))


def _print_command(root: Any, words: list[str]) -> None:
    path = " ".join([root.command_path, *words])
    commands.find(root, words).main(["--help"], prog_name=path, standalone_mode=False)


def _grouped(name: str, settings: list[tuple[SettingOwner, ConfigKey]]) -> dict[str, list[str]]:
    """Group the owners of a setting by its description; one of every connector is not repeated for single ones."""
    found: dict[str, list[str]] = {}
    for owner, key in settings:
        prefix = f", with the prefix {owner.prefix}" if owner.prefix and owner.key(name) is None else ""
        place = f", {owner.place}" if owner.place else ""
        of = found.setdefault(_definition(owner, key), [])
        if "every connector" not in of:
            of.append(owner.name + prefix + place)
    return found


def _unknown(reference: SettingReference, name: str, commands: list[str]) -> str:
    """``commands``: the names of all of them."""
    from penstock.core.config.unknown.similar_names import question

    close = reference.close(name, commands)
    close += [each for each in commands if name in each.split() and each not in close]
    hint = question(close) or ". `penstock help` says what it explains."
    return f"There is no setting, plugin or command `{name}`{hint}"


def _plugin(same: Iterable[SettingOwner]) -> str:
    """A plugin with all of its settings; ``same`` are the ways to use it."""
    from penstock.commands import _meaning as meaning

    owners = list(same)
    plugin, settings = owners[0].plugin, owners[0].settings
    assert plugin is not None
    lines = [plugin.java_name, f"  {', '.join(kind.interface for kind in plugin.kinds)}, version {plugin.version}"]
    if text := meaning.description(plugin):
        lines.append(_filled(text))
    if prefixes := sorted({owner.prefix for owner in owners} - {""}):
        lines.append(f"  its settings begin with {' or '.join(prefixes)}")
    if not settings:
        lines.append("  It defines no settings.")
    return "\n\n".join(["\n".join(lines), *(f"{key.name}\n{_definition(owners[0], key)}" for key in settings.values())])


def _paragraph(name: str, of: list[str], definition: str) -> str:
    return "\n".join([name, _filled(f"a setting of {'; '.join(of)}"), definition])


def _definition(owner: SettingOwner, key: ConfigKey) -> str:
    from penstock.commands import _meaning as meaning

    shown = key.info()
    default = "required" if shown.required else f"default {_default(shown.default_value)}"
    lines = [f"  {shown.type.lower()}, {default}, importance {shown.importance.lower()}"]
    if values := meaning.valid(key):
        lines.append(f"  valid: {values}")
    lines += [
        _filled(text) for text in (meaning.prose(shown.documentation), meaning.note(owner.name, key.name)) if text
    ]
    return "\n".join(lines)


def _filled(text: str) -> str:
    """Lines of ``WIDTH``, with an indentation; names are not broken."""
    indent = "  "
    return textwrap.fill(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _default(value: str | None) -> str:
    return "null" if value is None else value or '""'


def _document(owner: SettingOwner, key: ConfigKey) -> dict[str, Any]:
    from penstock.commands import _meaning as meaning

    differs = meaning.note(owner.name, key.name) or None
    shown = {**key.info().to_json(), "valid": meaning.valid(key) or None, "differs": differs}
    return {"of": owner.name, "prefix": owner.prefix, **shown}
