"""Singer's taps as sources and its targets as sinks: https://hub.meltano.com/singer/spec."""

from __future__ import annotations

from penstock.connectors.singer.connector import SingerSource
from penstock.connectors.singer.sink import SingerSink

__all__ = ["SingerSink", "SingerSource"]
