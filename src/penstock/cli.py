"""The command ``penstock``: finds the commands in ``penstock.commands`` and turns errors into sentences.

Every module there is one command and has an ``app``, a ``typer.Typer``, but those whose name begins with ``_``; what is
heavy it imports inside its functions, so that ``penstock --help`` answers at once.
"""

from __future__ import annotations

import io
import pkgutil
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from penstock import __version__, commands
from penstock.api.errors import ConfigError
from penstock.commands._output import INTERRUPTED
from penstock.embedded.home import EmbeddedError
from penstock.observe import many_lines

# Errors whose text is meant for the person at the terminal; anything else is a defect and keeps its traceback.
SENTENCES = (EmbeddedError, ConfigError)

COMPLETION = ("install_completion", "show_completion")
"""Options that typer gives to every app; one for all commands is enough."""


class Commands(TyperGroup):
    """The modules of ``penstock.commands``, imported when they are used."""

    def list_commands(self, ctx: Any) -> list[str]:
        modules = pkgutil.iter_modules(commands.__path__)
        return sorted(module.name for module in modules if not module.name.startswith("_"))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.list_commands(ctx):
            return None
        command = typer.main.get_command(import_module(f"penstock.commands.{cmd_name}").app)
        command.name = cmd_name
        _trust_authorities(command)
        command.params = [option for option in command.params if option.name not in COMPLETION]
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        known = self.list_commands(ctx)
        if args[0] not in known and not ctx.resilient_parsing:
            from penstock.core.config.unknown.similar_names import question, similar

            if meant := question(similar(args[0], known)):
                ctx.fail(f"No such command '{args[0]}'{meant}")
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and name != "context":
            self._use_context(ctx, command, rest)
        return name, command, rest

    def _use_context(self, ctx: Any, command: Any, rest: list[str]) -> None:
        """Give the command the values of a context, unless it is given a URL: a context's password is for its own."""
        from penstock.commands._contexts import use_context

        chosen = ctx.params.get("context")
        if any(argument.partition("=")[0] == "--url" for argument in rest):
            if chosen and ctx.get_parameter_source("context").name == "COMMANDLINE":
                ctx.fail("--context and --url both say which cluster is meant; give one of them.")
            return
        try:
            use_context(command, chosen)
        except ConfigError:
            if not ctx.resilient_parsing:  # else a shell wants completions
                raise

    def invoke(self, ctx: Any) -> Any:
        """Run a command.

        An error that the user can fix becomes a sentence on stderr; the exit status is 1 or the error's own.
        """
        try:
            return super().invoke(ctx)
        except Exception as error:
            status = getattr(error, "exit_status", 1 if isinstance(error, SENTENCES) else None)
            if status is None:
                raise
            print(many_lines(f"penstock: {error}"), file=sys.stderr)
            raise typer.Exit(status) from error


def _trust_authorities(command: Any) -> None:
    """Add ``--ca`` to each command that has the URL of a worker."""
    from penstock.commands._rest import authority_option

    for each in (command, *getattr(command, "commands", {}).values()):
        if any(parameter.name == "url" for parameter in each.params):
            each.params.append(authority_option())


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Kafka Connect in Python, with its data pipeline on Spark.",
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"penstock {__version__}")
        raise typer.Exit


@app.callback()
def _penstock(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    context: Annotated[
        str | None,
        typer.Option(
            envvar="PENSTOCK_CONTEXT", metavar="CONTEXT", help="The cluster to use, as `penstock context` names it."
        ),
    ] = None,
) -> None:
    pass


def main() -> None:
    """Run ``penstock``; the entry point."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # what the terminal's encoding can't show
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
