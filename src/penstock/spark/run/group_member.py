"""The member of a consumer group that a run of a sink task is, as the worker knows it."""

from __future__ import annotations

from penstock.kafka.group.removal import MemberRemoval
from penstock.pipeline.sink.member import client_id, consumer_settings
from penstock.pipeline.task import TaskSpec
from penstock.spark.messages.task import GroupMemberReport


class RunGroupMember:
    """None until the run's process reports one; other tasks than hosted sinks have none."""

    def __init__(self, spec: TaskSpec, removal: MemberRemoval) -> None:
        self._spec, self._removal = spec, removal
        self._id = ""

    def heard(self, report: GroupMemberReport) -> None:
        self._id = report.id
        settings = consumer_settings(self._spec)
        if report.waits and settings["client.id"] == client_id(self._spec):
            self._removal.replace(settings, lambda: self._id)

    def remove(self) -> None:
        """Called when the run is certainly over and has not closed its consumer; returns at once."""
        if self._id:
            self._removal.remove(consumer_settings(self._spec), self._id)
