"""Waiting for the signal that ends a worker."""

from __future__ import annotations

import subprocess
import sys

STORM = """
import signal
from penstock.worker.process import Signals

signals = Signals(signal.SIGALRM)
assert not signals.wait(0.0)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
came = sum(signals.wait(0.0001) for _ in range(20_000))
signal.setitimer(signal.ITIMER_REAL, 0)
print(came)
"""


def test_signals_that_come_while_others_are_waited_for_do_not_stop_it():
    run = subprocess.run([sys.executable, "-c", STORM], capture_output=True, text=True, timeout=120, check=True)
    assert int(run.stdout) > 100
