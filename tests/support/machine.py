"""What the machine must provide for some tests."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def missing(reason: str) -> NoReturn:
    """Something that the machine must provide is missing: skips the test on a developer's machine, and fails it in CI
    (``CI`` is set), where nobody reads which tests were skipped.
    """
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
