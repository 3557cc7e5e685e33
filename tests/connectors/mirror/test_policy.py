"""Names of mirrored topics, compared with those that Java's policies give."""

from __future__ import annotations

import pytest

from penstock.connectors.mirror.classes import load
from penstock.connectors.mirror.classes.policy import DefaultReplicationPolicy
from support.mirror.golden import golden


def policy(name: str, separator: str, internal: str) -> DefaultReplicationPolicy:
    made: DefaultReplicationPolicy = load(f"org.apache.kafka.connect.mirror.{name}")()
    made.configure(
        {
            "replication.policy.separator": separator,
            "replication.policy.internal.topic.separator.enabled": internal,
            "source.cluster.alias": "src",
        }
    )
    return made


@pytest.mark.parametrize("row", golden("policy"), ids="/".join)
def test_internal_topics_are_recognized(row: list[str]) -> None:
    name, separator, internal, *expected = row
    p = policy(name, separator, internal)
    assert [p.offset_syncs_topic("x"), p.checkpoints_topic("x"), p.heartbeats_topic()] == expected


TOPICS = golden("topic")


@pytest.mark.parametrize("named", sorted({tuple(row[:3]) for row in TOPICS}), ids="/".join)
def test_policy_names_mirrored_topics(named: tuple[str, str, str]) -> None:
    p = policy(*named)

    def null(text: str | None) -> str:
        return "null" if text is None else text

    def answers(topic: str) -> list[str]:
        names = [p.format_remote_topic("src", topic), p.topic_source(topic), p.upstream_topic(topic)]
        own = [p.is_heartbeats_topic(topic), p.is_checkpoints_topic(topic), p.is_internal_topic(topic)]
        return [*map(null, names), p.original_topic(topic), *(str(each).lower() for each in own)]

    rows = [row[3:] for row in TOPICS if tuple(row[:3]) == named]
    assert [[topic, *answers(topic)] for topic, *_ in rows] == rows


def test_without_a_separator_of_ones_own() -> None:
    p = DefaultReplicationPolicy()
    p.configure({"replication.policy.internal.topic.separator.enabled": "false"})
    assert p.format_remote_topic("a", "t") == "a.t"
    assert p.checkpoints_topic("a") == "a.checkpoints.internal"
