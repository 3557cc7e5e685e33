"""Random values for tests of types: a few in ``make test``, and in ``make soak-values`` so many as are asked for, whose
counts are kept.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from soak.values import ENDS, KEPT, SEED, KeptCounts

VALUES = int(os.environ.get("PENSTOCK_TEST_VALUES", "100"))
"""Values of each type; ``make soak-values`` takes 10,000."""
AT_ONCE = 50
ROUND, LUMP = 5_000, 2_500
"""Values of each type between two looks at the clock in ``make soak-values``, and those that are written at once."""


def values(of: SearchStrategy[Any], check: Callable[[list[Any]], None]) -> None:
    """Call ``check`` with lists of values until there were VALUES of them; in ``make soak-values`` those of earlier
    runs count.
    """
    if (kept := os.environ.get(KEPT)) is None:
        _check(drawn(of, VALUES), check)
        return
    counts = KeptCounts(Path(kept))
    path = os.environ["PYTEST_CURRENT_TEST"].rpartition("::")[2].removesuffix(" (call)")
    number = int(os.environ[SEED])
    while (done := counts.totals()[path]) < VALUES:
        if time.time() > float(os.environ[ENDS]):
            counts.add(path, 0, number)
            pytest.skip(f"Time is up after {done} values")
        found = drawn(of, min(ROUND, VALUES - done), crc32(f"{number} {path} {done}".encode()))
        for i in range(0, len(found), LUMP):
            try:
                _check(found[i : i + LUMP], check)
            except Exception as error:
                counts.add(path, 0, number, f"{type(error).__name__}: {error}"[:2_000])
                raise
        counts.add(path, len(found), number)


def _check(found: list[Any], check: Callable[[list[Any]], None]) -> None:
    """Check all values at once. If that fails, raise the error of the first value that fails alone, which is found by
    halving, or else that of all.
    """
    try:
        check(found)
    except Exception as error:
        while len(found) > 1:
            middle = len(found) // 2
            found = found[:middle] if _fails(found[:middle], check) else found[middle:]
        if (one := _fails(found, check)) is not None:
            raise AssertionError(f"{found[0]!r}: {type(one).__name__}: {one}") from one
        raise error


def _fails(found: list[Any], check: Callable[[list[Any]], None]) -> Exception | None:
    try:
        check(found)
    except Exception as error:
        return error
    return None


def drawn(of: SearchStrategy[Any], number: int, chosen: int = 0) -> list[Any]:
    """Draw ``number`` values, AT_ONCE at a time; ``chosen``: a seed."""
    found: list[Any] = []

    @seed(chosen)
    @settings(
        max_examples=max(1, -(-number // AT_ONCE)),
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(st.lists(of, min_size=AT_ONCE, max_size=AT_ONCE))
    def every(more: list[Any]) -> None:
        found.extend(more)

    every()
    return found
