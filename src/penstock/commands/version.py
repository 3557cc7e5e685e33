"""``penstock version``: what is asked for with a report of a fault."""

from __future__ import annotations

import typer

app = typer.Typer()


@app.command()
def version() -> None:
    """Show the versions of Penstock, of the Kafka Connect that it reproduces, of Spark, Python and the clients."""
    import platform
    from importlib.metadata import version as installed

    from penstock import KAFKA_VERSION, __version__

    print(f"penstock {__version__}")
    print(f"Kafka Connect {KAFKA_VERSION}")
    for package in ("pyspark", "confluent-kafka", "kafka-python"):
        print(f"{package} {installed(package)}")
    print(f"Python {platform.python_version()}, {platform.platform()}")
