"""java.text.SimpleDateFormat for Python."""

from __future__ import annotations

from penstock.java.dates.format import DateFormat

__all__ = ["DateFormat"]
