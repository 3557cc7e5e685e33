"""Requirements of some tests on the machine."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def missing(reason: str) -> NoReturn:
    """Skip the test because the machine lacks something; in CI (``CI`` is set), where nobody reads which tests were
    skipped, fail it.
    """
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
