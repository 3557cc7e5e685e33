"""``penstock lint``: check connectors in files without a worker."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.commands._output import As, OutputFormat, printed, say
from penstock.commands._rest import complain

if TYPE_CHECKING:
    from penstock.declarative.lint import Linted

app = typer.Typer()


@app.command()
def lint(
    file: Annotated[list[Path], typer.Argument(help="Files that describe connectors, or folders of them.")],
    worker: Annotated[
        Path | None,
        typer.Option("--worker", help="Properties of their worker: its plugin.path, converters and rules."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Count settings without effect as errors, as penstock.config.strict does.")
    ] = False,
    var: Annotated[
        list[str] | None, typer.Option("--var", help="A value, `name=value`, for `{{ name }}` in the files.")
    ] = None,
    var_file: Annotated[list[Path] | None, typer.Option(help="YAML or JSON files of such names and values.")] = None,
    output: As = OutputFormat.TABLE,
) -> None:
    """Check connectors in files offline: no worker, no brokers and no other system is contacted.

    Files are those of `penstock apply`. Values that refer to config providers are not checked. Exit status 1 if a
    worker would refuse something.
    """
    from penstock.declarative.lint import lint as linted
    from penstock.declarative.resources import read_resources
    from penstock.declarative.variables import variables
    from penstock.doctor.examination import read_worker, rules_of

    resources = read_resources(file, variables(var or [], var_file or []))
    properties = {} if worker is None else read_worker(worker)
    strict = strict or properties.get("penstock.config.strict", "").strip().lower() == "true"
    found = linted(resources, properties, replace(rules_of(properties, standalone=False), strict=strict))
    if not printed(output, [each.to_json() for each in found], [each.name for each in found if each.errors]):
        for each in found:
            _show(each)
    if any(each.errors for each in found):
        raise typer.Exit(1)


def _show(found: Linted) -> None:
    say(f"{found.file}: connector {found.name}: {'refused' if found.errors else 'valid'}")
    for error in found.errors:
        complain(f"{found.name}: {error}")
    for warning in found.warnings:
        say(f"  warning: {warning}")
    if found.unchecked:
        say(f"  not checked, since the values are not known here: {', '.join(found.unchecked)}")
