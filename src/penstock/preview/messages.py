"""Messages between a worker and the process of a preview, a frame each, over the process's standard input and output.

The worker's end is ``preview.process``, the preview's ``preview.__main__``.
"""

from __future__ import annotations

from typing import Any

from penstock.preview.request import PreviewRequest
from penstock.wire.messages import Message, MessageCodec


class RunPreview(Message, frozen=True):
    """Worker to preview: try this configuration. Sent once; ``PreviewReply`` follows."""

    request: PreviewRequest


class PreviewReply(Message, frozen=True):
    """Preview to worker: what would happen to each record. The process ends after it."""

    kind: str
    """``source``, ``sink`` or ``unknown``."""
    records: list[dict[str, Any]]
    """Records as ``preview.shown`` makes them, before and after each step."""
    error: dict[str, str] | None
    """``stage`` and ``message`` of what kept the configuration from being tried at all."""


PREVIEW_REQUESTS = MessageCodec[RunPreview]("the preview protocol (requests)", RunPreview)
PREVIEW_REPLIES = MessageCodec[PreviewReply]("the preview protocol (replies)", PreviewReply)
