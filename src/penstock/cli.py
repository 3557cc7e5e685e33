"""The command ``penstock``: finds the commands in ``penstock.commands`` and turns errors into sentences.

Every module there is one command and has an ``app``, a ``typer.Typer``; what is heavy it imports inside its functions,
so that ``penstock --help`` answers at once.
"""

from __future__ import annotations

import pkgutil
import sys
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from penstock import commands
from penstock.api.errors import ConfigError
from penstock.embedded.home import EmbeddedError

# Errors whose text is meant for the person at the terminal; anything else is a defect and keeps its traceback.
SENTENCES = (EmbeddedError, ConfigError)


class Commands(TyperGroup):
    """The modules of ``penstock.commands``, imported when they are asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(module.name for module in pkgutil.iter_modules(commands.__path__))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.list_commands(ctx):
            return None
        command = typer.main.get_command(import_module(f"penstock.commands.{cmd_name}").app)
        command.name = cmd_name
        return command


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Kafka Connect in Python, with its data pipeline on Spark.",
)


@app.callback()
def _penstock() -> None:
    pass


def main() -> None:
    """The entry point. Exit status 1 with one sentence on stderr for an error that is the user's to mend."""
    try:
        app()
    except SENTENCES as e:
        print(f"penstock: {e}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()


if __name__ == "__main__":
    main()
