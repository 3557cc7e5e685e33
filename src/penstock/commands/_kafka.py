"""The options and clients of commands that read Kafka themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from confluent_kafka import Consumer

BOOTSTRAP = "localhost:9092"
PATIENCE_SECONDS = 15.0
"""Seconds to wait for the brokers' first answer."""

Bootstrap = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-server",
        envvar="PENSTOCK_BOOTSTRAP_SERVER",
        help=f"Brokers to connect to; by default the connector's producer.override.bootstrap.servers, otherwise "
        f"{BOOTSTRAP}.",
    ),
]
CommandConfig = Annotated[
    Path | None,
    typer.Option(
        "--command-config",
        help="Properties file with client settings, as for Kafka's own tools.",
    ),
]


def client_settings(bootstrap: str | None, file: Path | None, connector: Mapping[str, str]) -> dict[str, str]:
    """Client settings, with Java's names, for the brokers that the command line or the connector names."""
    from penstock.files import read_file
    from penstock.java.properties import parse_properties

    try:
        content = b"" if file is None else read_file(file, regular=False)
        settings = parse_properties(content.decode("iso-8859-1"))  # as Kafka's tools do
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"The client settings in {file} can't be read: {error}") from error
    named = bootstrap or settings.get("bootstrap.servers") or connector.get("producer.override.bootstrap.servers")
    return {**settings, "bootstrap.servers": named or BOOTSTRAP, "client.id": "penstock-cli"}


@contextmanager
def kafka_errors() -> Iterator[None]:
    """Kafka's errors inside the block become a ClientError; an UnreachableError if the brokers do not answer."""
    from confluent_kafka import KafkaException

    from penstock.api.errors import ConnectError
    from penstock.http.client_errors import ClientError, UnreachableError
    from penstock.kafka.admin import NoAnswerError, is_unreached, sentence

    try:
        yield
    except KafkaException as error:
        raise (UnreachableError if is_unreached(error) else ClientError)(f"{sentence(error)}.") from error
    except NoAnswerError as error:
        raise UnreachableError(f"{error}.") from error
    except ConnectError as error:
        raise ClientError(f"{error}.") from error


def reader(connector: str, settings: Mapping[str, str]) -> Consumer:
    """Return a consumer like ``queue_consumer``. Raises UnreachableError if no broker answers."""
    from confluent_kafka import KafkaException

    from penstock.http.client_errors import UnreachableError
    from penstock.kafka.admin import sentence
    from penstock.kafka.letters.replay import queue_consumer

    consumer = queue_consumer(connector, settings)
    try:
        consumer.list_topics(timeout=PATIENCE_SECONDS)
    except KafkaException as error:
        consumer.close()
        at = settings["bootstrap.servers"]
        raise UnreachableError(f"No broker can be reached at {at}: {sentence(error)}.") from error
    return consumer
