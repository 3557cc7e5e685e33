"""``python -m penstock.preview``: reads a request as JSON from the standard input, prints the answer as JSON.

The worker starts it, and kills it when it takes too long. What plugins print goes to the standard error.
"""

from __future__ import annotations

import json
import logging
import os
import sys

from penstock.preview.request import PreviewRequest
from penstock.preview.run import preview


def main() -> None:
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    request = PreviewRequest(**json.load(sys.stdin))
    with answer:
        json.dump(preview(request), answer)
    os._exit(0)  # threads of plugins and clients are not waited for


if __name__ == "__main__":
    main()
