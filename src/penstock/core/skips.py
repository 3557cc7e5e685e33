"""Skips: records that a sink's tasks leave out, because they fail for them, until the connector is past them.

A request becomes records of the config topic, which any worker may write, so that every worker gives them to the tasks
that it starts. A task reports when the offsets that are committed are beyond a skip, and its worker deletes the record.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.core.model import actions
from penstock.core.model import messages as m
from penstock.core.model.flow import Flow, Output
from penstock.core.model.records import ConfigTopicRecord, RecordSkip, RestartRequest
from penstock.core.model.skips import MAX_SKIPPED, Skip
from penstock.core.model.state import ClusterState
from penstock.core.requests.reads import config_of, shown


@dataclass(slots=True)
class Skips:
    output: Output
    state: ClusterState

    def request(self, request: m.SkipRecords) -> Flow:
        """202 with the skips that are stored. ``restart`` restarts all tasks: any of them may get the records."""
        name, wanted = request.name, sum(last - first + 1 for first, last in request.spans)
        config = config_of(self.state, name)
        self._check_number(name, wanted)
        connector = self.state.connectors[name]
        skips: tuple[Skip, ...] = yield actions.ExamineSkip(
            name, config, request.topic, request.partition, request.spans, request.to
        )
        config_of(self.state, name)
        self._check_number(name, wanted)
        if self.state.connectors[name] is not connector:
            raise m.Refused(409, f"Connector {name} was deleted and created again meanwhile; try again")
        if name in self.state.orphaned_skips:
            raise m.Refused(409, f"The skips of a deleted connector {name} are being removed; try again")
        records: list[ConfigTopicRecord] = [RecordSkip(name, skip, principal=request.principal) for skip in skips]
        if request.restart:
            records.append(RestartRequest(name, include_tasks=True, principal=request.principal))
        yield actions.AppendConfig(tuple(records), as_leader=False)
        stored = [shown(skip) for skip in skips]
        return m.Reply(202, {"connector": name, "skips": stored, "restarted": request.restart})

    def cancel(self, request: m.CancelSkips) -> Flow:
        config_of(self.state, request.name)
        yield from self._remove(request.name, self.state.skips_of(request.name), request.principal)
        return m.Reply(204)

    def over(self, connector: str, skip: Skip) -> None:
        """Delete a skip that has taken effect, unless another one was stored in its place since the task began."""
        if self.state.skips.get(connector, {}).get(skip.key) == skip:
            self.output.start(self._remove(connector, (skip,)), what=f"Removing a skip of connector {connector}")

    def caught_up(self) -> None:
        """Delete the skips of connectors that do not exist: the record that deleted one may be compacted away."""
        self.state.orphan_skips()
        for connector in sorted(self.state.orphaned_skips):
            self.deleted(connector)

    def deleted(self, connector: str) -> None:
        """Delete the skips of a deleted connector. Every worker does: the leader may be Java's, which does not."""
        left = tuple(self.state.skips.get(connector, {}).values())
        if left:
            self.output.start(self._remove(connector, left), what=f"Removing the skips of connector {connector}")

    def stored(self, connector: str, skip: Skip) -> None:
        """Delete a skip that was stored only after its connector had been deleted."""
        if connector not in self.state.connectors:
            self.state.orphan_skips()
        if connector in self.state.orphaned_skips:
            self.output.start(self._remove(connector, (skip,)), what=f"Removing a skip of connector {connector}")

    def _remove(self, connector: str, skips: Iterable[Skip], principal: str | None = None) -> Flow:
        if records := tuple(RecordSkip(connector, each, over=True, principal=principal) for each in skips):
            yield actions.AppendConfig(records, as_leader=False)

    def _check_number(self, name: str, wanted: int) -> None:
        """Raise Refused if these are too many."""
        pending = sum(map(len, self.state.skips_of(name)))
        if wanted + pending > MAX_SKIPPED:
            more = f", and {pending} of connector {name} are to be skipped already" if pending else ""
            raise m.Refused(400, f"{wanted} records are to be skipped{more}; {MAX_SKIPPED} at a time are accepted")
