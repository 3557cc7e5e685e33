"""A Singer tap as a source: https://hub.meltano.com/singer/spec."""

from __future__ import annotations

from penstock.connectors.singer.connector import SingerSource

__all__ = ["SingerSource"]
