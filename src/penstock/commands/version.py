"""``penstock version``: what is asked for with a report of a fault."""

from __future__ import annotations

import typer

from penstock.commands._output import say

app = typer.Typer()


@app.command()
def version() -> None:
    """Show the versions of Penstock, of the Kafka Connect that it reproduces, of Spark, Python and the clients."""
    import platform
    from importlib.metadata import version as installed

    from penstock import KAFKA_VERSION, __version__

    say(f"penstock {__version__}")
    say(f"Kafka Connect {KAFKA_VERSION}")
    for package in ("pyspark", "confluent-kafka", "kafka-python"):
        say(f"{package} {installed(package)}")
    say(f"Python {platform.python_version()}, {platform.platform()}")
