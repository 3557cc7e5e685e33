"""What is to be previewed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.kafka.letters.queue import Letter


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewRequest:
    """Plain JSON values only, as it goes to another process. References to config providers are resolved."""

    connector: dict[str, str]
    """The connector's configuration, its name included."""
    worker: dict[str, str]
    plugin_path: list[str] = field(default_factory=list)
    limit: int = 5
    partition: int | None = None
    """Sinks: sample this partition only."""
    offset: int | None = None
    """Sinks: from this offset; None: the last records."""
    poll: bool = False
    """Sources: poll the connector's task although it does not say that this is harmless."""
    sampled: str | None = None
    """Sources whose tasks are queries: what Spark has read, as ``hosts.python.wire`` writes it, in base64; empty if
    that is nothing.
    """
    origin: tuple[str, int, int] | None = None
    """Sinks: from where the one record came that is now in a dead letter queue; topic, partition and offset."""
    seconds: float = 20.0
    """How long to wait for records."""


def of_letter(
    config: Mapping[str, str], letter: Letter, worker: dict[str, str], plugin_path: list[str]
) -> PreviewRequest:
    """For one dead letter of a sink with this configuration, as if it had come from its own topic."""
    place = [letter.error_header(name) for name in ("topic", "partition", "offset")]
    topic, partition, offset = place
    known = topic and partition and offset and partition.isdecimal() and offset.isdecimal()
    servers = config.get("producer.override.bootstrap.servers")
    return PreviewRequest(
        connector={
            **{key: value for key, value in config.items() if key != "topics.regex"},
            **({"consumer.override.bootstrap.servers": servers} if servers else {}),
            "topics": letter.topic,
        },
        worker=worker,
        plugin_path=plugin_path,
        limit=1,
        partition=letter.partition,
        offset=letter.offset,
        origin=(topic, int(partition), int(offset)) if known and topic and partition and offset else None,
    )
