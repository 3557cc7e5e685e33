"""Reading the config topic to its end within ``worker.sync.timeout.ms``, and what a worker does that can't.

A worker that can't read what it is to run would hold up its group: it leaves, and joins again once it has caught up
(Java: DistributedHerder's readConfigToEnd and backoff).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.group import rebalance
from penstock.core.group.membership import EAGER, Joined
from penstock.core.model import actions
from penstock.core.model.flow import Flow, Until
from penstock.core.model.messages import Refused

if TYPE_CHECKING:
    from penstock.core.herder import Herder

RETRIES = 5
"""How often the topic is tried again before what runs here is given up."""


def read_to_end(herder: Herder, before: str) -> Flow:
    """Read all that is in the config topic now, on behalf of a request; raises Refused if that takes too long."""
    if not (yield from _read_in_time(herder, 0)):
        raise Refused(500, f"Failed to read to end of config topic before {before}")


def catch_up(herder: Herder, event: Joined) -> Flow:
    """Read what the leader has read already; then take the assignment, or join again."""
    place, target = herder.place, event.assignment.offset
    if (yield from _read_in_time(herder, target)):
        if place.awaited is event:
            _go_on(herder, event)
    elif place.awaited is event:  # else there was another rebalance meanwhile, or contact with the group was lost
        yield from _stay_away(herder, event)


def _go_on(herder: Herder, event: Joined) -> None:
    rebalance.publish(herder)
    if event.assignment.failed:
        _join_again(herder)
    else:
        herder.handle_when_free(event)


def _join_again(herder: Herder) -> None:
    herder.place.awaited = None
    herder.emit(actions.Rejoin("this worker has caught up with the config topic"))


def _stay_away(herder: Herder, event: Joined) -> Flow:
    """Out of the group until the topic can be read; what runs here goes on as long as nobody else is given it."""
    place, settings = herder.place, herder.settings
    place.leave()
    herder.emit(actions.LeaveGroup("taking too long to read the config topic"))
    working, left_at, retries = True, herder.now, RETRIES
    while True:
        if event.protocol_version == EAGER:
            pause = settings.unsync_backoff_ms
        else:
            pause = settings.max_delay_ms // 10 // max(retries, 1)
        herder.log(
            "WARNING",
            f"The config topic could not be read up to its end within worker.sync.timeout.ms="
            f"{settings.sync_timeout_ms}; this worker stays out of its group and tries again in {pause} ms",
        )
        over = herder.now + pause + settings.sync_timeout_ms - left_at > settings.max_delay_ms
        if working and (retries == 0 or over):
            herder.log("WARNING", "What runs on this worker stops, as others may be given it")
            herder.emit(actions.LeaveGroup("not having caught up with the config topic", keeps_work=False))
            rebalance.give_up_all(herder, None)
            working = False
        retries = retries - 1 if retries else RETRIES
        yield from _pass(herder, pause)
        read = yield from _read_in_time(herder, event.assignment.offset)
        if place.awaited is not event:
            return
        if read:
            rebalance.publish(herder)
            _join_again(herder)
            return


def _pass(herder: Herder, milliseconds: int) -> Flow:
    over = herder.now + milliseconds
    yield Until(lambda: herder.now >= over, milliseconds + 1, "")


def _read_in_time(herder: Herder, target: int) -> Flow:
    """Whether all of the topic, at least up to this offset, could be read in time."""
    ends: list[BaseException | None] = []

    def reading() -> Flow:
        yield actions.ReadConfigToEnd()

    herder.start(reading(), lambda _, error: ends.append(error))
    try:
        yield Until(lambda: bool(ends) and herder.state.position >= target, herder.settings.sync_timeout_ms, "")
    except TimeoutError:
        return False
    return ends[0] is None
