"""The leader's duties with its new office: the claim to the config topic (KIP-618), and the session key (KIP-507)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.core.group.leadership import append
from penstock.core.model import actions
from penstock.core.model.flow import FOREVER, Flow, Until
from penstock.core.model.records import SessionKey
from penstock.core.session_keys import key_bytes

if TYPE_CHECKING:
    from penstock.core.herder import Herder

RETRY_MS = 1_000


def keep_session_key(herder: Herder) -> Flow:
    """As long as this worker leads, without a break.

    Claim the config topic, again whenever that has been lost, and write a session key, and another whenever it has
    grown old.
    """
    settings, place = herder.settings, herder.place
    reign = place.reign

    def over() -> bool:
        return not herder.is_leader or place.reign != reign

    def wanted() -> bool:
        """A key, or a claim; the last member that did not sign may have gone meanwhile."""
        return lacks_key(herder) or (settings.fenced_writes and not place.claimed)

    while not over():
        try:
            if settings.fenced_writes and not place.claimed:
                yield actions.ClaimConfigTopic()
                if over():
                    return
                place.claimed = True
            if signs(herder) and _is_due(herder):
                material = yield actions.MakeSessionKey(settings.key_algorithm, settings.key_size)
                if over():
                    return
                yield from append(herder, SessionKey(material, settings.key_algorithm, herder.now))
        except Exception as error:
            herder.log("WARNING", f"The leader could not write to the config topic, and tries again: {error}")
            yield from _wait(over, RETRY_MS)
            continue
        yield from _wait(lambda: over() or wanted(), _due_in(herder))
        if settings.fenced_writes and not place.claimed:
            yield from _wait(over, RETRY_MS)  # until then it may be known that another one leads


def signs(herder: Herder) -> bool:
    return herder.settings.distributed and herder.place.sessioned


def signing_key(herder: Herder) -> bytes | None:
    """What requests to other workers are signed with; None where nobody signs, or there is no key yet."""
    key = herder.state.session_key
    return key.key if key is not None and signs(herder) else None


def lacks_key(herder: Herder) -> bool:
    """Whether requests are to be signed, and the leader has written no key yet."""
    return signs(herder) and herder.state.session_key is None


def _is_due(herder: Herder) -> bool:
    key, settings = herder.state.session_key, herder.settings
    if key is None or key.algorithm != settings.key_algorithm:
        return True
    if len(key.key) != key_bytes(settings.key_algorithm, settings.key_size):
        return True
    return settings.key_ttl_ms > 0 and herder.now >= key.created_ms + settings.key_ttl_ms


def _due_in(herder: Herder) -> int:
    """A key that is given no time to live is never too old."""
    key, ttl_ms = herder.state.session_key, herder.settings.key_ttl_ms
    if ttl_ms == 0:
        return FOREVER
    return ttl_ms if key is None else max(key.created_ms + ttl_ms - herder.now, RETRY_MS)


def _wait(end: Callable[[], bool], milliseconds: int) -> Flow:
    """Until the end, or so long."""
    try:
        yield Until(end, milliseconds, "")
    except TimeoutError:
        return
