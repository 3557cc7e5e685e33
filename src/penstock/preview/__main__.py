"""``python -m penstock.preview``: reads a request from the standard input, writes the answer to the standard output.

The worker starts it, and kills it when it takes too long. What plugins print goes to the standard error.
"""

from __future__ import annotations

import logging
import os
import sys

from penstock.preview.messages import (
    ANSWERS,
    REQUESTS,
    AnyAnswer,
    AnyRequest,
    CheckRequest,
    PreviewRequest,
    RecordsRequest,
)
from penstock.preview.run import preview
from penstock.preview.target_check import check_targets
from penstock.preview.topic_records import topic_records
from penstock.wire.framing import HEADER_BYTES, frame, frame_size

MAX_REQUEST = 1 << 30
"""Bytes."""


def main() -> None:
    """Answer one request."""
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    size = frame_size(sys.stdin.buffer.read(HEADER_BYTES), MAX_REQUEST)
    request = REQUESTS.decode(sys.stdin.buffer.read(size))
    with answer:
        answer.write(frame(ANSWERS.encode(_answer(request))))
    os._exit(0)  # threads of plugins and clients are not waited for


def _answer(request: AnyRequest) -> AnyAnswer:
    match request:
        case PreviewRequest():
            return preview(request)
        case RecordsRequest():
            return topic_records(request)
        case CheckRequest():
            return check_targets(request)


if __name__ == "__main__":
    main()
