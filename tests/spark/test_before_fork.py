from __future__ import annotations

import subprocess
import sys

from penstock.spark.daemon import free_blocks

STATISTICS = """Small block threshold = 512, in 32 size classes.

class   size   num pools   blocks in use  avail blocks
-----   ----   ---------   -------------  ------------
    0     16           4            3948           136
    1     32         101           51340            31
   31    512        1052           32601            11

# arenas allocated total           =                  228
"""


def test_free_blocks_are_found_in_cpythons_own_description() -> None:
    assert list(free_blocks(STATISTICS)) == [(16, 136), (32, 31), (512, 11)]


def test_another_allocators_description_has_none() -> None:
    assert not list(free_blocks("mimalloc: 12 34\n"))


def test_what_is_made_afterwards_is_put_into_pages_of_its_own() -> None:
    """Few of the free blocks are left, and what was there before is as it was."""
    code = """
from penstock.spark import daemon
before = [object() for _ in range(100_000)]
kept = before[::3]
del before
filled = daemon.fill_free_blocks()
left = sum(free for _, free in daemon.free_blocks(daemon._allocator_statistics()))
print(len(kept), filled, left)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    kept, filled, left = map(int, out.split())
    assert kept == 33_334
    # A pool of each of 32 sizes may be half full, of 1,024 blocks at most.
    assert filled > 60_000
    assert left < filled / 4
