"""What hosted tasks have done, where people who know Spark look for it: as named accumulators of their stages.

An accumulator tells its value when a Spark task ends, and ours end after weeks. So the driver writes into the stage
what each task reports to its worker; the pages of Spark's UI, and its REST API, show it with the next heartbeat (10 s).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

log = logging.getLogger(__name__)


class StageCounts:
    """Called by one thread, for jobs of one stage."""

    def __init__(self, context: Any) -> None:
        self._spark = context._jsc.sc()
        self._jvm = context._jvm
        self._ids: dict[str, int] = {}
        """By name; every stage keeps values of its own."""

    def show(self, group: str, values: Mapping[str, float]) -> None:
        """Show these totals with the running job of this group; without one they are dropped."""
        try:
            stage = self._stage(group)
            for name, value in values.items() if stage is not None else ():
                self._put(stage, name, int(value))
        except Exception:
            # It reaches into Spark's inside, and must never be why a driver ends.
            log.debug("Counts of %s can't be shown", group, exc_info=True)

    def _stage(self, group: str) -> Any:
        tracker = self._spark.statusTracker()
        for job in tracker.getJobIdsForGroup(group):
            for stage in tracker.getJobInfo(job).get().stageIds():
                found = self._spark.dagScheduler().stageIdToStage().get(stage)
                if found.isDefined():
                    return found.get().latestInfo()
        return None

    def _put(self, stage: Any, name: str, value: int) -> None:
        if name not in self._ids:
            self._ids[name] = self._jvm.org.apache.spark.util.AccumulatorContext.newId()
        id, some = self._ids[name], self._jvm.scala.Some
        none = getattr(getattr(self._jvm.scala, "None$"), "MODULE$")
        info = self._jvm.org.apache.spark.scheduler.AccumulableInfo
        stage.accumulables().put(id, info(id, some(name), none, some(value), False, False, none))
