"""``penstock context``: clusters that commands know by name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.commands._contexts import Context, Contexts
from penstock.commands._output import As, OutputFormat, print_table, printed, say

app = typer.Typer(
    no_args_is_help=True,
    help="Name clusters: the URL of a worker, a user and authorities, which other commands use.",
)


def _complete_context(incomplete: str) -> list[str]:
    from penstock.api.errors import ConfigError

    try:
        return [name for name in Contexts.load().contexts if name.startswith(incomplete)]
    except ConfigError:
        return []


Known = Annotated[str, typer.Argument(metavar="CONTEXT", autocompletion=_complete_context)]


@app.command("list")
def list_contexts(output: As = OutputFormat.TABLE) -> None:
    """List all contexts; `*` marks the current one."""
    found = Contexts.load()
    shown = [
        {
            "name": name,
            "current": name == found.current,
            "url": each.url,
            "user": None if each.user is None else each.user.partition(":")[0],
            "ca": each.ca,
        }
        for name, each in sorted(found.contexts.items())
    ]
    if not printed(output, shown, [each["name"] for each in shown]):
        rows = [
            ("*" if each["current"] else "", each["name"], each["url"], each["user"] or "-", each["ca"] or "-")
            for each in shown
        ]
        print_table(("", "NAME", "URL", "USER", "CA"), rows)


@app.command("set")
def set_context(
    name: Known,
    worker_url: Annotated[str | None, typer.Option("--url", help="URL of a worker's REST interface.")] = None,
    login: Annotated[
        str | None,
        typer.Option("--user", metavar="NAME[:PASSWORD]", help="Without a password, each command asks for it."),
    ] = None,
    authorities: Annotated[
        Path | None, typer.Option("--ca", metavar="FILE", help="Certificates in PEM of authorities to trust.")
    ] = None,
) -> None:
    """Make a context, or change one: what is not given stays, and an empty text removes it."""
    contexts = Contexts.load()
    known = contexts.contexts.get(name)
    url = worker_url or (known.url if known else None)
    if url is None:
        raise typer.BadParameter(f"Context {name} is new: give it --url.")
    user = login if login is not None else known.user if known else None
    ca = known.ca if known else None
    if authorities is not None:
        ca = str(authorities.expanduser().absolute()) if str(authorities) != "." else None
    contexts.contexts[name] = Context(url, user or None, ca)
    contexts.current = contexts.current or name
    contexts.save()
    say(f"Context {name} is {url}{', the current one' if contexts.current == name else ''}.")


@app.command()
def use(name: Known) -> None:
    """Make a context the current one, for all commands without --context."""
    contexts = Contexts.load()
    contexts.named(name)
    contexts.current = name
    contexts.save()
    say(f"The current context is {name}, {contexts.contexts[name].url}.")


@app.command()
def delete(name: Known) -> None:
    """Delete a context. Without a current one, commands use a worker on this machine."""
    contexts = Contexts.load()
    contexts.named(name)
    del contexts.contexts[name]
    contexts.current = None if contexts.current == name else contexts.current
    contexts.save()
    say(f"Context {name} is deleted.")
