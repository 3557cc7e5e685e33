"""``penstock plugins``: plugins with environments of their own, and jars that connectors need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from penstock.commands._output import As, OutputFormat, printed, say
from penstock.core.config.unknown.similar_names import question, similar
from penstock.observe import many_lines

app = typer.Typer(
    no_args_is_help=True,
    help="Install plugins into environments of their own, or jars that connectors need, such as JDBC drivers.",
)

Into = Annotated[
    Path | None,
    typer.Option(
        "--plugin-path",
        envvar="PENSTOCK_PLUGIN_PATH",
        help="A folder that the worker's plugin.path names.",
        show_default=False,
    ),
]


@app.command()
def install(
    name: Annotated[
        str,
        typer.Argument(help="A folder or a wheel with a plugin; or a JDBC driver's name, such as jdbc-postgresql."),
    ],
    plugin_path: Into = None,
    python: Annotated[
        str | None, typer.Option(help="The Python of the environment, 3.11 or newer; by default the worker's.")
    ] = None,
) -> None:
    """Install a plugin into an environment of its own, in place of its older version; workers find it at once.

    Or fetch a JDBC driver, pinned by version and checksum.
    """
    from penstock.spark.query.jdbc import drivers

    if name in drivers.INSTALLABLE:
        for jar in drivers.install(name):
            say(f"{jar} is installed; connectors that start on this machine from now on find it.")
        return
    from penstock.hosts.python.install import InstallError
    from penstock.hosts.python.install import install as install_plugin

    if not Path(name).exists():
        known = ", ".join(drivers.INSTALLABLE)
        meant = question(similar(name, drivers.INSTALLABLE))
        raise typer.BadParameter(f"there is no {name}: neither a folder, nor a wheel, nor one of {known}{meant}")
    try:
        made = install_plugin(Path(name), _folder(plugin_path), python)
    except InstallError as error:
        raise typer.BadParameter(str(error)) from error
    for problem in made.left_out:
        typer.echo(many_lines(str(problem)), err=True)
    for connector in made.connectors:
        say(f"{connector['class']} {connector['version']} is installed, with Python {made.python}, in {made.folder}")


@app.command("list")
def list_(plugin_path: Into = None, output: As = OutputFormat.TABLE) -> None:
    """List the plugins with environments of their own: plugin, connector, version, kind, Python."""
    from penstock.hosts.python.environment import environments

    folder = _existing(plugin_path)
    found = environments([str(folder)])
    if not found:
        typer.echo(f"{folder} has no plugins with environments of their own.", err=True)
    rows = [
        {"plugin": each.name, **{key: one[key] for key in ("class", "version", "kind")}, "python": each.python}
        for each in found
        for one in each.connectors
    ]
    if printed(output, rows, [each.name for each in found]):
        return
    for plugin in found:
        for connector in plugin.connectors:
            say("\t".join((plugin.name, connector["class"], connector["version"], connector["kind"], plugin.python)))


@app.command()
def pack(
    archive: Annotated[Path, typer.Argument(help="The file to write, such as plugins.tar.gz.", show_default=False)],
    plugin_path: Into = None,
) -> None:
    """Pack all environments into an archive for the executors of a Spark cluster."""
    from penstock.hosts.python.environment import FOLDER, environments
    from penstock.hosts.python.environment import pack as write

    folder = _existing(plugin_path)
    found = environments([str(folder)])
    if not found:
        raise typer.BadParameter(f"there are no plugins in {folder}")
    if not archive.name.endswith((".tar.gz", ".tgz")):
        raise typer.BadParameter(f"{archive}: Spark unpacks it if its name ends in .tar.gz or .tgz")
    if not archive.absolute().parent.is_dir():
        raise typer.BadParameter(f"{archive}: there is no such folder")
    with _writing(archive):
        write(found, archive)
    say(f"{archive} has {', '.join(each.name for each in found)}. In the worker's properties:")
    say(f"spark.archives={archive.resolve()}#{FOLDER}")


@app.command()
def remove(
    name: Annotated[str, typer.Argument(help="The plugin's name, as `list` shows it.", show_default=False)],
    plugin_path: Into = None,
) -> None:
    """Remove a plugin. Connectors and tasks that run go on until they are stopped."""
    from penstock.hosts.python.environment import environments, sweep

    folder = _existing(plugin_path)
    known = environments([str(folder)])
    found = [plugin for plugin in known if plugin.name == name]
    if not found:
        names = list(dict.fromkeys(plugin.name for plugin in known))
        there = ", ".join(names) or "no plugins"
        raise typer.BadParameter(f"there is no {name} in {folder}: there are {there}{question(similar(name, names))}")
    with _writing(folder):
        for plugin in found:
            plugin.retire()
    used = sweep(folder)
    say(f"{name} is removed.")
    for plugin in found:
        if plugin.folder in used:
            say(f"{plugin.folder} is still used by processes; the next install or remove deletes it.")


def _folder(plugin_path: Path | None) -> Path:
    if plugin_path is None:
        raise typer.BadParameter("name a folder of the worker's plugin.path: --plugin-path, or PENSTOCK_PLUGIN_PATH")
    return plugin_path


@contextmanager
def _writing(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise typer.BadParameter(f"{place} can't be written: {error.strerror}") from error


def _existing(plugin_path: Path | None) -> Path:
    folder = _folder(plugin_path)
    if not folder.is_dir():
        raise typer.BadParameter(f"there is no folder {folder}; `penstock plugins install` makes it")
    return folder
