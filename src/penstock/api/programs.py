"""Names of settings of connectors that run a program, and of the workers' allow lists for them. Provisional.

A worker refuses a configuration whose program is not on its list, and by default no program is. So a connector only
names the list in the documentation of its setting.
"""

from __future__ import annotations

TAPS_ALLOWED, SINGER_TAP = "penstock.singer.taps.allowed", "singer.tap"
TARGETS_ALLOWED, SINGER_TARGET = "penstock.singer.targets.allowed", "singer.target"
SOURCES_ALLOWED, DLT_SOURCE = "penstock.dlt.sources.allowed", "dlt.source"
PYTHONS_ALLOWED, DLT_PYTHON = "penstock.dlt.pythons.allowed", "dlt.python"
