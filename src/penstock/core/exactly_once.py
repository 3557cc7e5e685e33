"""Fencing of a connector's old tasks before its new ones start (KIP-618).

A source task with exactly once writes under a transactional id of its own. Before the tasks of a new generation
start, the leader fences the producers of the last one, of which the ``tasks-fencing-`` record tells how many there
were, and writes the new number there; only then do tasks start and read their offsets. Where one task follows one
task it fences its predecessor by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.core.group.catch_up import read_to_end
from penstock.core.group.leader_duties import lacks_key, signing_key
from penstock.core.group.leadership import append
from penstock.core.model import actions
from penstock.core.model.flow import Flow, Until
from penstock.core.model.messages import Refused
from penstock.core.model.records import TaskCount
from penstock.core.status import events

if TYPE_CHECKING:
    from penstock.core.herder import Herder

RETRY_MS = 250


@dataclass(slots=True)
class Fencing:
    leading: set[str] = field(default_factory=set)
    """Connectors that this leader is fencing."""
    waiting: set[str] = field(default_factory=set)
    """Connectors whose tasks here wait for the fencing."""


def fence(herder: Herder, name: str) -> Flow:
    """As leader, fence the old tasks of a connector if that is due; several requests at once share one round."""
    yield from read_to_end(herder, "performing zombie fencing")
    yield Until(lambda: name not in herder.fencing.leading, herder.settings.request_timeout_ms, f"fencing of {name}")
    state = herder.state
    connector = state.connectors.get(name)
    if connector is None or name not in state.pending_fencing:
        return
    position, count, old = connector.tasks_position, len(connector.task_configs), state.task_counts.get(name)

    def write_count() -> Flow:
        present = state.connectors.get(name)
        if present is None or present.tasks_position != position:
            raise Refused(
                409, f"Failed to complete zombie fencing of {name} because a new set of task configs was generated"
            )
        yield from append(herder, TaskCount(name, count))

    herder.fencing.leading.add(name)
    try:
        if old is not None and (old, count) != (1, 1):
            yield actions.FenceProducers(name, old, connector.config)
        yield from herder.changing.through(write_count())
    finally:
        herder.fencing.leading.discard(name)


def fence_before_start(herder: Herder, name: str) -> None:
    """Have the connector's old tasks fenced, here or at the leader, then let its tasks here start; or fail them."""
    if name in herder.fencing.waiting:
        return
    herder.fencing.waiting.add(name)

    def done(_: object, error: BaseException | None) -> None:
        herder.fencing.waiting.discard(name)
        if error is None:
            herder.work.prepared(name)
        else:
            _fail_waiting(herder, name, error)

    herder.start(_fence_while_waited_for(herder, name), done)


def _fence_while_waited_for(herder: Herder, name: str) -> Flow:
    """The leader may change, or be out of reach for a moment: tried again as long as a request may take."""
    give_up_at = herder.now + herder.settings.request_timeout_ms
    while herder.work.preparing(name):
        try:
            yield from _fence_here_or_there(herder, name)
            return
        except Exception as error:
            if herder.now >= give_up_at:
                raise
            herder.log("WARNING", f"The old tasks of {name} could not be fenced, next try in {RETRY_MS} ms: {error}")
        try:
            yield Until(lambda: not herder.work.preparing(name), RETRY_MS, "")
        except TimeoutError:
            continue


def _fence_here_or_there(herder: Herder, name: str) -> Flow:
    timeout_ms = herder.settings.request_timeout_ms
    yield Until(herder.ready_to_lead, timeout_ms, "No leader is known.")
    if herder.is_leader:
        yield from fence(herder, name)
        return
    yield Until(lambda: not lacks_key(herder), timeout_ms, "The leader has not written a session key.")
    yield actions.CallLeader(
        "PUT",
        herder.leader_url or "",
        ("connectors", name, "fence"),
        None,
        signing_key(herder),
        herder.settings.signature_algorithm,
    )
    yield Until(lambda: name not in herder.state.pending_fencing, timeout_ms, f"{name} has not been fenced.")


def _fail_waiting(herder: Herder, name: str, error: BaseException) -> None:
    trace = (
        "org.apache.kafka.connect.errors.ConnectException: Failed to perform zombie fencing\n"
        f"Caused by: {type(error).__name__}: {error}\n"
    )
    for task in herder.work.preparing(name):
        events.fail_task(herder, task, trace)
        herder.work.ended(task)
