"""Children that end with their parent, however it ends: the kernel sends them a signal (Linux).

The signal comes when the *thread* ends that started the child, so it has to be one that lives as long as its process.
Elsewhere than on Linux nothing happens here, and children see by their sockets and pipes that their parent is gone.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

_SET_PDEATHSIG = 1
ORPHANED = 114
"""Exit code of a process whose parent had ended before it could ask for the signal."""


def end_with_parent(parent: int | None) -> None:
    """Called first by a child of the process ``parent``; None if that is not known."""
    signal_from_parent(signal.SIGKILL)
    if parent is not None and os.getppid() != parent:
        os._exit(ORPHANED)


def signal_from_parent(number: signal.Signals) -> None:
    """Which signal this process gets when its parent ends; called by the main thread."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_PDEATHSIG, number)


def popen(command: Sequence[str], preexec_fn: Callable[[], object] = lambda: None, **options: Any) -> Any:
    """``subprocess.Popen`` of a process that gets SIGTERM when this one ends, whatever it executes by then."""
    parent = os.getpid()

    def before() -> None:
        preexec_fn()
        signal_from_parent(signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(ORPHANED)

    return subprocess.Popen(command, preexec_fn=before, **options)
