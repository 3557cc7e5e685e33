"""Sources and resources of dlt: https://dlthub.com/docs/general-usage/resource."""

from __future__ import annotations

from penstock.connectors.dlt.source import DltSource

__all__ = ["DltSource"]
