"""Names and regular expressions that choose topics, groups and settings."""

from __future__ import annotations

import pytest

from penstock.connectors.mirror.classes.filters import (
    DefaultConfigPropertyFilter,
    DefaultGroupFilter,
    DefaultTopicFilter,
)
from penstock.connectors.mirror.settings import CHECKPOINT_SETTINGS, SOURCE_SETTINGS
from penstock.java.errors import PatternError

ALIAS = {"source.cluster.alias": "a"}


def topics(**config: str) -> DefaultTopicFilter:
    made = DefaultTopicFilter()
    made.configure(SOURCE_SETTINGS.parse(ALIAS | {name.replace("_", "."): value for name, value in config.items()}))
    return made


@pytest.mark.parametrize("topic", ["t", "a.t", "x.internal", "mm2", "replica"])
def test_ordinary_topics_are_mirrored_by_default(topic: str) -> None:
    assert topics().should_replicate_topic(topic)


@pytest.mark.parametrize("topic", ["__consumer_offsets", "mm2-offset-syncs.b.internal", "a.replica"])
def test_topics_left_out_by_default(topic: str) -> None:
    assert not topics().should_replicate_topic(topic)


def test_a_list_of_patterns_describes_whole_names() -> None:
    some = topics(topics="a, b.*,\\p{Digit}+", topics_exclude="b1")
    chosen = [name for name in ("a", "aa", "b", "b1", "b2", "12", "1x") if some.should_replicate_topic(name)]
    assert chosen == ["a", "b", "b2", "12"]


def test_an_empty_list_describes_nothing() -> None:
    assert not topics(topics="").should_replicate_topic("")
    assert topics(topics_exclude="").should_replicate_topic("__t")


def test_a_pattern_that_is_none() -> None:
    with pytest.raises(PatternError, match="Unclosed character class"):
        topics(topics="[")


def test_group_filter_follows_its_patterns() -> None:
    made = DefaultGroupFilter()
    made.configure(CHECKPOINT_SETTINGS.parse(ALIAS | {"groups": "g.*,connect-x"}))
    assert [made.should_replicate_group(name) for name in ("g", "h", "connect-x")] == [True, False, False]


def test_topic_settings_are_filtered_by_exclusion() -> None:
    made = DefaultConfigPropertyFilter()
    made.configure(SOURCE_SETTINGS.parse(ALIAS))
    assert made.should_replicate_config_property("retention.ms")
    assert not made.should_replicate_config_property("min.insync.replicas")
    assert not made.should_replicate_source_default("retention.ms")
    made.configure({**SOURCE_SETTINGS.parse(ALIAS), "use.defaults.from": "source"})
    assert made.should_replicate_source_default("retention.ms")
