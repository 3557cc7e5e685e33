"""Settings ``topic.creation.*`` of a connector that have no effect, or that no topic has."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.config.unknown.similar_names import near_misses, question, similar
from penstock.core.topic_creation.rules import DEFAULT, GROUPS, PREFIX, RULES

ENABLE = "topic.creation.enable"
_OF_GROUPS = ("include", "exclude", "partitions", "replication.factor")
_OF_RULES = ("regex", "partitions", "replication.factor")
_OF_DEFAULT = {f"{PREFIX}{DEFAULT}.include": ".*", f"{PREFIX}{DEFAULT}.exclude": ""}
"""Of the group ``default``, with what it matches whatever they are."""
_OF_TOPICS = (
    "cleanup.policy",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "delete.retention.ms",
    "file.delete.delay.ms",
    "flush.messages",
    "flush.ms",
    "follower.replication.throttled.replicas",
    "index.interval.bytes",
    "leader.replication.throttled.replicas",
    "local.retention.bytes",
    "local.retention.ms",
    "max.compaction.lag.ms",
    "max.message.bytes",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.type",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "min.insync.replicas",
    "preallocate",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "remote.storage.enable",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "segment.index.bytes",
    "segment.jitter.ms",
    "segment.ms",
    "unclean.leader.election.enable",
)
"""Of Kafka's topics. The broker may know more: a name that is like none of these is left to it."""


def unknown_setting(name: str, props: Mapping[str, str | None]) -> str | None:
    """What is wrong with a setting ``topic.creation.*`` of a source connector; None if it may have an effect.

    What names no rule of the draft's is left to ``check_draft``, which refuses it.
    """
    if name == RULES:
        return None
    if name == ENABLE:
        return f"'{name}' is a setting of the worker and has no effect on a connector"
    draft = RULES in props
    listed = [each.strip() for each in (props.get(RULES if draft else GROUPS) or "").split(",")]
    owners = [*filter(None, listed), *([] if draft else [DEFAULT])]
    rest = name.removeprefix(PREFIX)
    owner = max((each for each in owners if rest.startswith(f"{each}.")), key=len, default=None)
    if name in _OF_DEFAULT and not draft and (props[name] or "").strip() != _OF_DEFAULT[name]:
        return f"'{name}' has no effect: group '{DEFAULT}' is for all topics that no other group matches"
    if owner is not None:
        prefix = f"{PREFIX}{owner}."
        known = [*(_OF_RULES if draft else _OF_GROUPS), *_OF_TOPICS]
        meant = [] if rest.removeprefix(f"{owner}.") in known else near_misses(rest.removeprefix(f"{owner}."), known)
        return f"'{name}' is no setting of topics{question(prefix + each for each in meant)}" if meant else None
    if draft:
        return None
    head, _, setting = rest.partition(".")
    if not setting:
        return f"'{name}' is no setting of this connector and has no effect{question(similar(name, [GROUPS]))}"
    proposed = (f"{PREFIX}{each}.{setting}" for each in similar(head, owners))
    return f"'{name}' has no effect: '{GROUPS}' does not name '{head}'{question(proposed)}"
