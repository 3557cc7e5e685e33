"""The leader's duties with its new office: the claim to the config topic (KIP-618), and the session key (KIP-507)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core import actions
from penstock.core.exactly_once import append
from penstock.core.flow import Flow, Until
from penstock.core.records import SessionKey

if TYPE_CHECKING:
    from penstock.core.herder import Herder

RETRY_MS = 1_000


def keep_session_key(herder: Herder) -> Flow:
    """As long as this worker leads.

    Claim the config topic, write a session key, and another whenever it has grown old.
    """
    settings = herder.settings
    while herder.is_leader:
        try:
            if settings.exactly_once and not herder.claimed:
                yield actions.ClaimConfigTopic()
                herder.claimed = herder.is_leader
            if not settings.distributed:
                return
            key = herder.state.session_key
            if (
                key is None
                or key.algorithm != settings.key_algorithm
                or herder.now >= key.created_ms + settings.key_ttl_ms
            ):
                material = yield actions.MakeSessionKey(settings.key_algorithm, settings.key_size)
                yield from append(herder, SessionKey(material, settings.key_algorithm, herder.now))
        except Exception as error:
            herder.log("WARNING", f"The leader could not write to the config topic, and tries again: {error}")
            yield from pause(herder, RETRY_MS)
            continue
        key = herder.state.session_key
        due = settings.key_ttl_ms if key is None else max(key.created_ms + settings.key_ttl_ms - herder.now, RETRY_MS)
        yield from pause(herder, due)


def pause(herder: Herder, milliseconds: int) -> Flow:
    """Wait so long, or until this worker no longer leads."""
    leading = herder.is_leader
    try:
        yield Until(lambda: leading and not herder.is_leader, milliseconds, "")
    except TimeoutError:
        return
