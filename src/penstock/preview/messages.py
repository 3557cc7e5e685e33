"""Messages between the worker and the process of one preview.

The worker sends one ``PreviewRequest``, ``RecordsRequest`` or ``CheckRequest`` to the standard input of the process,
which writes the ``PreviewAnswer``, ``RecordsAnswer`` or ``CheckAnswer`` to its standard output and ends. Each is a
frame of ``penstock.wire.framing``.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from penstock.core.config.internal_topics import NO_INTERNAL_TOPICS, InternalTopics
from penstock.wire.messages import Message, MessageCodec


class PreviewRequest(Message, frozen=True, kw_only=True):
    """From the worker: try this configuration on records. References to config providers are resolved."""

    connector: dict[str, str]
    """The connector's configuration, its name included."""
    worker: dict[str, str]
    internal_topics: InternalTopics = NO_INTERNAL_TOPICS
    """Topics that may not be read."""
    plugin_path: list[str] = []
    limit: int = 5
    """Maximum number of records."""
    partition: int | None = None
    """Sinks: sample this partition only."""
    offset: int | None = None
    """Sinks: from this offset; None: the last records."""
    poll: bool = False
    """Sources: poll the connector's task although it does not say that this is harmless."""
    sampled: str | None = None
    """Sources whose tasks are queries: the records that Spark has read, as ``hosts.python.wire`` writes them, in
    base64; empty without any.
    """
    origin: tuple[str, int, int] | None = None
    """Sinks: topic, partition and offset of the one record that is now in a dead letter queue."""
    seconds: float = 20.0
    """Time limit of reading records."""


class PreviewValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the parts of an answer."""


class PreviewFailure(PreviewValue, frozen=True):
    """An error before any record was read, and the stage of the pipeline."""

    stage: str
    message: str


class StepFailure(PreviewValue, frozen=True):
    """The error of a step, and the class of its plugin."""

    stage: str
    plugin: str = msgspec.field(name="class")
    message: str = ""


class PreviewedStep(PreviewValue, frozen=True):
    """One step on one record. Fields are absent if the step has failed before."""

    stage: str
    plugin: str = msgspec.field(name="class")
    alias: str | None = None
    predicate: bool | UnsetType = UNSET
    """True if the record passes the step's predicate; absent without one."""
    records: int | UnsetType = UNSET
    """Number of records that the step has returned."""
    changed: bool | UnsetType = UNSET
    after: dict[str, Any] | UnsetType = UNSET
    """The record after the step, if it has changed."""


class PreviewedRecord(PreviewValue, frozen=True):
    """One record before and after all steps."""

    before: dict[str, Any]
    steps: list[PreviewedStep]
    result: dict[str, Any] | None
    """None for a record that was dropped, or for which a step has failed."""
    error: StepFailure | None


class PreviewAnswer(Message, frozen=True, omit_defaults=False):
    """From the process of the preview: the records with each step, or why there are none."""

    kind: str
    """source, sink, or unknown for a connector that was not found."""
    records: list[PreviewedRecord]
    error: PreviewFailure | None


class RecordsRequest(Message, frozen=True, kw_only=True):
    """From the worker: read records of a topic of this connector. References to config providers are resolved."""

    connector: dict[str, str]
    """The connector's configuration, its name included."""
    worker: dict[str, str]
    internal_topics: InternalTopics = NO_INTERNAL_TOPICS
    """Topics that may not be read."""
    plugin_path: list[str] = []
    topic: str
    partition: int | None = None
    """Only this partition."""
    start: str | int = "latest"
    """``latest``: the last records; ``earliest``: from the beginning; or from a time in milliseconds."""
    offsets: dict[str, int] = {}
    """Offsets from which these partitions alone are read, instead of ``start``."""
    limit: int = 50
    """Maximum number of records."""
    search: str | None = None
    """Text that a record's key, value or headers must have, in any case."""
    seconds: float = 10.0
    """Time limit of reading records."""


class RecordsAnswer(Message, frozen=True, kw_only=True):
    """From the process of the preview: records of a topic, or why there are none."""

    records: list[dict[str, Any]] = []
    scanned: int = 0
    """Number of records that were read."""
    left: list[tuple[int, int]] = []
    """Partitions that were not read up to their ends, and the offsets at which to go on."""
    error: str | None = None
    status: int = 500
    """HTTP status of an error: that of a request which is wrong is below 500."""


class CheckRequest(Message, frozen=True, kw_only=True):
    """From the worker: contact what this configuration names. References to config providers are resolved."""

    connector: dict[str, str]
    """The connector's configuration, its name included."""
    worker: dict[str, str]
    internal_topics: InternalTopics = NO_INTERNAL_TOPICS
    """Topics that may not be read or written."""
    plugin_path: list[str] = []
    seconds: float = 30.0
    """Time limit; steps that have not ended by then have failed."""


class CheckAnswer(Message, frozen=True, kw_only=True):
    """From the process of the preview: the steps, each with part, step, outcome and message, in their order."""

    steps: list[dict[str, str]] = []


AnyRequest = PreviewRequest | RecordsRequest | CheckRequest
AnyAnswer = PreviewAnswer | RecordsAnswer | CheckAnswer
REQUESTS = MessageCodec[AnyRequest]("the preview", AnyRequest)
ANSWERS = MessageCodec[AnyAnswer]("the preview", AnyAnswer)


def plain(answer: PreviewAnswer) -> dict[str, Any]:
    """Return an answer as the JSON values that the REST API shows."""
    found: dict[str, Any] = msgspec.to_builtins(answer)
    del found["type"]
    return found
