"""``python -m penstock.preview``: reads a request from the standard input, writes the reply to the standard output.

The worker starts it, and kills it when it takes too long. What plugins print goes to the standard error.
"""

from __future__ import annotations

import logging
import os
import sys

from penstock.preview.messages import PREVIEW_REPLIES, PREVIEW_REQUESTS, PreviewReply
from penstock.preview.run import preview
from penstock.wire.framing import MAX_FRAME, FrameDecoder, frame


def main() -> None:
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    (body,) = FrameDecoder(MAX_FRAME).feed(sys.stdin.buffer.read())
    found = preview(PREVIEW_REQUESTS.decode(body).request)
    with answer:
        answer.write(frame(PREVIEW_REPLIES.encode(PreviewReply(**found))))
    os._exit(0)  # threads of plugins and clients are not waited for


if __name__ == "__main__":
    main()
