"""``penstock schemas``: show the subjects and schemas that a connector's converters use in the Schema Registry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import typer

from penstock.commands._output import As, OutputFormat, print_table, printed, say
from penstock.commands._rest import URL, Name, Url, User, client

if TYPE_CHECKING:
    from penstock.pipeline.converters.registry.converter import RegistryConverter

app = typer.Typer(help="Show the subjects, versions and ids that a connector uses in the Schema Registry.")


@app.command()
def schemas(connector: Name, url: Url = URL, user: User = None, output: As = OutputFormat.TABLE) -> None:
    """Show the subjects of the connector's topics, with the latest version of each and its id.

    Only converters that the connector itself configures are known here, and the topics that it has used.
    """
    with client(url, user) as worker:
        config, topics = worker.config(connector), sorted(worker.topics(connector))
    found = list(_subjects(config, topics))
    if printed(output, found, [each["subject"] for each in found]):
        return
    if found:
        print_table(
            ("TOPIC", "OF", "SUBJECT", "VERSION", "ID", "TYPE"),
            ([row[name] for name in ("topic", "of", "subject", "version", "id", "type")] for row in found),
        )
    else:
        say(f"Connector {connector} has used no schema of a registry that its own configuration names.")


def _subjects(config: Mapping[str, str], topics: list[str]) -> Iterator[dict[str, Any]]:
    for which in ("key", "value"):
        converter = _converter(config, which)
        if converter is None:
            continue
        try:
            for topic in topics:
                for entry in converter.registered(topic):
                    yield {"topic": topic, "of": which, **entry}
        finally:
            converter.close()


def _converter(config: Mapping[str, str], which: str) -> RegistryConverter | None:
    """The converter for keys or values, if it is one of the registry's. Raises ConfigError for its settings."""
    from penstock.pipeline import converters
    from penstock.pipeline.converters.registry.converter import RegistryConverter

    name = config.get(f"{which}.converter", "").strip()
    for exported in converters.__all__:
        kind = getattr(converters, exported)
        if issubclass(kind, RegistryConverter) and name in (
            kind.java_name,
            kind.__name__,
            f"{kind.__module__}.{exported}",
        ):
            made = kind()
            prefix = f"{which}.converter."
            made.configure(
                {n.removeprefix(prefix): v for n, v in config.items() if n.startswith(prefix)}, which == "key"
            )
            return made
    return None
