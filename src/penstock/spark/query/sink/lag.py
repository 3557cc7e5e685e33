"""How far a query is behind: gauges for those who ask for its health, as hosted sinks have them."""

from __future__ import annotations

import time
from collections.abc import Mapping

from penstock.pipeline.metrics import Metrics
from penstock.spark.query.sink.offsets import Place

RECORD_TIME = "penstock-record-timestamp"
"""The latest of the timestamps of all records that were read, in milliseconds."""


def measure(metrics: Metrics, position: Mapping[Place, int], ends: Mapping[Place, int], latest: float) -> None:
    """``position``: where the next batch starts; ``latest``: RECORD_TIME of those before it, 0 if unknown."""
    behind = sum(max(ends[place] - offset, 0) for place, offset in position.items() if place in ends)
    metrics.put("penstock-records-behind", behind)
    if not behind:
        metrics.put("penstock-seconds-behind", 0.0)
    elif latest:
        metrics.put("penstock-seconds-behind", max(time.time() - latest / 1000, 0.0))
