"""``penstock plugins``: fetch what connectors need and Penstock does not bring."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Fetch jars that connectors need, such as JDBC drivers.")

Name = Annotated[str, typer.Argument(help="Such as jdbc-postgresql.", show_default=False)]


@app.callback()
def plugins() -> None:
    """Keeps `install` a command of its own, though it is the only one."""


@app.command()
def install(name: Name) -> None:
    """Fetch a JDBC driver, pinned by version and checksum: jdbc-postgresql, jdbc-mariadb or jdbc-sqlite."""
    from penstock.jdbc import drivers

    if name not in drivers.INSTALLABLE:
        raise typer.BadParameter(f"there is no {name}; there are {', '.join(drivers.INSTALLABLE)}")
    for jar in drivers.install(name):
        print(f"{jar} is installed; connectors that start on this machine from now on find it.")
