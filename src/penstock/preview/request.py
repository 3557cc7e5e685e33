"""What is to be previewed."""

from __future__ import annotations

from dataclasses import dataclass, field


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
    seconds: float = 20.0
    """How long to wait for records."""
