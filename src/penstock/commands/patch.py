"""``penstock patch``: change single settings of connectors (KIP-477)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.commands._output import confirm, say_lines
from penstock.commands._rest import URL, Chosen, Select, States, Url, User, client, complete_connector, each

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.http.client import Client

app = typer.Typer()

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="CONNECTOR... KEY=VALUE...",
        help="Names, or patterns such as 'orders-*', then settings with their new values.",
        autocompletion=complete_connector,
    ),
]
Unset = Annotated[list[str] | None, typer.Option("--unset", help="Remove this setting.")]


@app.command()
def patch(
    words: Words = None,
    unset: Unset = None,
    selector: Select = None,
    state: States = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before those chosen by pattern are changed.")] = False,
    url: Url = URL,
    user: User = None,
) -> None:
    """Change single settings of connectors; all others stay as they are. Shows what has changed.

    A connector that is kept in files gets its former settings again with the next `penstock apply`.
    """
    given, changes = changes_of(words, unset)
    chosen = Chosen(given or None, selector, state)
    with client(url, user) as worker:
        names = chosen.of(worker)
    if names and names != given and not yes:
        confirm(f"Change {', '.join(names)}?")
    if names:
        each(Chosen(names), url, user, lambda worker, name: _patch(worker, name, changes))


def changes_of(words: list[str] | None, unset: list[str] | None) -> tuple[list[str], dict[str, str | None]]:
    """Return the names, and the settings with their new values; None for one to remove. Raises BadParameter."""
    names = [word for word in words or () if "=" not in word]
    changes: dict[str, str | None] = dict.fromkeys(map(str.strip, unset or ()))
    for word in words or ():
        key, separator, value = word.partition("=")
        if not separator:
            continue
        key = key.strip()
        if not key:  # the value may be a secret
            raise typer.BadParameter("A value has no name of a setting before its `=`.")
        if key in changes:
            raise typer.BadParameter(f"The setting `{key}` is given twice.")
        changes[key] = value
    if not changes:
        raise typer.BadParameter("Nothing is to be changed: give settings as KEY=VALUE, or --unset KEY.")
    return names, changes


def _patch(worker: Client, name: str, changes: dict[str, str | None]) -> str:
    from penstock.commands.apply import difference
    from penstock.declarative.plan import PlannedChange, PlanStep

    before = worker.config(name)
    after = worker.patch_config(name, changes)["config"]
    found = list(difference(PlanStep(name, PlannedChange.UPDATE, before, after)))
    found += [f"  + {key}={after[key]}" for key in sorted(changes) if _is_hidden(key, changes[key], before, after)]
    if not found:
        return f"Connector {name} has these settings already."
    say_lines([f"Connector {name}:", *found])
    return f"Patched connector {name}."


def _is_hidden(key: str, given: str | None, before: Mapping[str, str | None], after: Mapping[str, str | None]) -> bool:
    """Return whether the worker masks a setting in both replies, which then are equal whether it has changed or not."""
    from penstock.core.config.secrets import MASK

    shown = after.get(key)
    return shown is not None and MASK in shown and shown != given and shown == before.get(key)
