"""What the leader alone may do: decide on a change and write it to the config topic, one change after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.core.model import actions
from penstock.core.model.flow import Flow, Until
from penstock.core.model.messages import Refused
from penstock.core.model.records import ConfigTopicRecord

if TYPE_CHECKING:
    from penstock.core.herder import Herder

NO_LEADER = "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."


class Fenced(Exception):
    """This worker can write to the config topic no more: another has become leader, or a write has failed."""


class ElsewhereError(Exception):
    """Raised in a flow: the worker at this URL must answer."""

    def __init__(self, url: str | None) -> None:
        super().__init__(f"the leader is {url}")
        self.url = url


def as_leader(herder: Herder) -> Flow:
    """Go on if this worker leads; else the request is the leader's. A rebalance is waited for, up to a bound."""
    try:
        yield Until(herder.ready_to_lead, herder.settings.patience_ms, "")
    except TimeoutError:
        raise Refused(409, NO_LEADER) from None
    if not herder.is_leader:
        raise ElsewhereError(herder.leader_url)


def one_by_one(herder: Herder, change: Callable[[], Flow]) -> Flow:
    """As leader, decide and write while no other change is being decided on."""
    yield from as_leader(herder)

    def still_leading() -> Flow:
        yield from as_leader(herder)
        return (yield from change())

    return (yield from herder.changing.through(still_leading()))


def append(herder: Herder, *records: ConfigTopicRecord) -> Flow:
    """Write to the config topic as leader, and wait until the records have been read back.

    A leader that finds itself fenced does not try again by itself, since what it has decided may be out of date; it
    claims the topic once more if it still leads (it may have been the other one that was late).
    """
    try:
        yield actions.AppendConfig(records)
    except Fenced:
        herder.place.claimed = False
        raise Refused(
            500,
            "Failed to write to config topic; this may be due to a transient error and the request can be safely "
            "retried",
        ) from None
