"""Singer's taps as sources and its targets as sinks: https://hub.meltano.com/singer/spec."""

from __future__ import annotations

from penstock.connectors.singer.sink import SingerSink
from penstock.connectors.singer.source import SingerSource

__all__ = ["SingerSink", "SingerSource"]
