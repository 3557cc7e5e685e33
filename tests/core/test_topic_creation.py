from __future__ import annotations

import re

import pytest

from penstock.api.errors import ConfigError
from penstock.core.topic_creation.draft import check_draft
from penstock.core.topic_creation.groups import (
    NewTopicSpec,
    TopicCreation,
    check_topic_creation,
    uses_topic_creation,
)
from penstock.java.errors import PatternError
from penstock.java.regex import compile_regex

DEFAULT = {"topic.creation.default.replication.factor": "1", "topic.creation.default.partitions": "3"}


def spec(config: dict[str, str], topic: str = "orders") -> NewTopicSpec | None:
    return TopicCreation.from_config(config).spec_for(topic)


# -- the shipped spelling


def test_without_rules_nothing_is_created() -> None:
    assert spec({"name": "n"}) is None
    assert not uses_topic_creation({"name": "n", "topic": "t"})


def test_the_default_group_matches_all() -> None:
    config = {**DEFAULT, "topic.creation.default.retention.ms": "5", "topic.creation.default.include": "nothing"}
    assert spec(config) == NewTopicSpec("orders", 3, 1, {"retention.ms": "5"}, "default")


def test_the_first_group_that_matches_applies() -> None:
    config = {
        **DEFAULT,
        "topic.creation.groups": "first, second",
        "topic.creation.first.include": "ord.*,x",
        "topic.creation.first.exclude": ".*s",
        "topic.creation.second.include": "orders",
        "topic.creation.second.compression.type": "gzip",
        "topic.creation.second.replication.factor": "-1",
    }
    assert spec(config) == NewTopicSpec("orders", 3, -1, {"compression.type": "gzip"}, "second")
    assert spec(config, "order") == NewTopicSpec("order", 3, 1, {}, "first")
    assert spec(config, "my-order") == NewTopicSpec("my-order", 3, 1, {}, "default")


@pytest.mark.parametrize(
    ("include", "exclude", "topic", "group"),
    [
        ("(?i)foo.*,BAR.*", "", "bar1", "g"),
        (".*", "(?i)tmp.*,ORDERS.*", "orders.eu", "default"),
        (r"(a)\1,(b)\1", "", "bb", "default"),
        (r"(a)\1,(b)\2", "", "bb", "g"),
        ("(?x)x|orders #,others", "", "others", "default"),
        ("", "", "orders", "default"),
        ("orders", "", "orders", "g"),
    ],
)
def test_the_patterns_of_a_list_are_joined_to_one(include: str, exclude: str, topic: str, group: str) -> None:
    own = {"topic.creation.groups": "g", "topic.creation.g.include": include, "topic.creation.g.exclude": exclude}
    rule = TopicCreation.from_config({**DEFAULT, **own}, compile_regex).rule_for(topic)
    assert rule is not None
    assert rule.name == group


def test_patterns_that_cannot_be_joined_make_the_tasks_fail() -> None:
    """The connector does not fail, as in Java, where the connector does not join the patterns."""
    own = {"topic.creation.groups": "g", "topic.creation.g.include": "(?<n>a),(?<n>b)"}
    check_topic_creation({**DEFAULT, **own}, compile_regex)
    with pytest.raises(PatternError, match="Named capturing group <n> is already defined"):
        TopicCreation.from_config({**DEFAULT, **own}, compile_regex)


def test_a_group_named_default_is_the_default_group() -> None:
    assert spec({**DEFAULT, "topic.creation.groups": "default"}) == NewTopicSpec("orders", 3, 1, {}, "default")


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        (
            {"topic.creation.groups": "g", "topic.creation.g.include": ".*"},
            'Missing required configuration "topic.creation.default.replication.factor" which has no default value.',
        ),
        (
            {"topic.creation.default.replication.factor": "1"},
            'Missing required configuration "topic.creation.default.partitions" which has no default value.',
        ),
        (
            {**DEFAULT, "topic.creation.default.partitions": "0"},
            "Invalid value 0 for configuration partitions: Number of partitions must be positive, or -1 to use the "
            "broker's default",
        ),
        (
            {**DEFAULT, "topic.creation.default.replication.factor": "0"},
            "Invalid value 0 for configuration replication.factor: Replication factor must be positive and not larger "
            "than the number of brokers in the Kafka cluster, or -1 to use the broker's default",
        ),
        (
            {**DEFAULT, "topic.creation.default.partitions": "x"},
            "Invalid value x for configuration topic.creation.default.partitions: Not a number of type INT",
        ),
        (
            {**DEFAULT, "topic.creation.groups": "g", "topic.creation.g.include": "a,("},
            "Invalid value [a, (] for configuration include: Syntax error in regular expression: missing ), "
            "unterminated subpattern at position 0",
        ),
    ],
)
def test_messages_about_invalid_rules_equal_javas(config: dict[str, str], problem: str) -> None:
    for read in (TopicCreation.from_config, check_topic_creation):
        with pytest.raises(ConfigError) as caught:
            read(config, re.compile)
        assert str(caught.value) == problem


def test_patterns_are_compiled_by_the_dialect_given() -> None:
    config = {**DEFAULT, "topic.creation.groups": "g", "topic.creation.g.include": "ORDERS"}
    creation = TopicCreation.from_config(config, lambda pattern: re.compile(pattern, re.IGNORECASE))
    rule = creation.rule_for("orders")
    assert rule is not None
    assert rule.name == "g"


# -- the draft

DRAFT = {
    "topic.creation": "firstRule,defaultRule",
    "topic.creation.firstRule.regex": "MyPrefix.*",
    "topic.creation.firstRule.replication.factor": "3",
    "topic.creation.firstRule.partitions": "5",
    "topic.creation.firstRule.cleanup.policy": "compact",
    "topic.creation.defaultRule.regex": "m.*",
    "topic.creation.defaultRule.min.insync.replicas": "2",
}


def test_the_example_of_the_draft_is_understood() -> None:
    assert check_draft(DRAFT) == []
    assert spec(DRAFT, "MyPrefix1") == NewTopicSpec("MyPrefix1", 5, 3, {"cleanup.policy": "compact"}, "firstRule")
    assert spec(DRAFT, "mine") == NewTopicSpec("mine", -1, -1, {"min.insync.replicas": "2"}, "defaultRule")
    assert spec(DRAFT, "other") is None


def test_rules_may_be_called_default_or_groups() -> None:
    config = {
        "topic.creation": "groups,default",
        "topic.creation.groups.regex": "a.*",
        "topic.creation.default.regex": ".*",
        "topic.creation.default.partitions": "2",
    }
    assert check_draft(config) == []
    assert spec(config, "ab") == NewTopicSpec("ab", -1, -1, {}, "groups")
    assert spec(config, "b") == NewTopicSpec("b", 2, -1, {}, "default")


@pytest.mark.parametrize(
    ("change", "keys"),
    [
        ({"topic.creation.groups": "g"}, ["topic.creation.groups", "topic.creation"]),
        ({"topic.creation.firstRule.include": "x"}, ["topic.creation.firstRule.include", "topic.creation"]),
        ({"topic.creation.other.partitions": "1"}, ["topic.creation.other.partitions", "topic.creation"]),
        ({"topic.creation.firstRule.regex": "("}, ["topic.creation.firstRule.regex"]),
        ({"topic.creation.firstRule.partitions": "-2"}, ["topic.creation.firstRule.partitions"]),
        ({"topic.creation.firstRule.replication.factor": "x"}, ["topic.creation.firstRule.replication.factor"]),
        ({"topic.creation": "firstRule,third,defaultRule"}, ["topic.creation.third.regex"]),
        ({"topic.creation": "firstRule,firstRule,defaultRule"}, ["topic.creation"]),
        ({"topic.creation": "firstRule,,defaultRule"}, ["topic.creation"]),
    ],
)
def test_each_mistake_in_the_draft_names_its_key(change: dict[str, str], keys: list[str]) -> None:
    (problem,) = check_draft({**DRAFT, **change})
    (error,) = problem.errors
    assert problem.name == keys[0]
    assert all(key in error for key in keys)
    with pytest.raises(ConfigError, match=re.escape(error)):
        TopicCreation.from_config({**DRAFT, **change})


def test_a_regex_among_groups_is_refused() -> None:
    config = {**DEFAULT, "topic.creation.groups": "g", "topic.creation.g.regex": ".*"}
    (problem,) = check_draft(config)
    assert "'topic.creation.g.regex'" in problem.errors[0]
    assert "'topic.creation.groups'" in problem.errors[0]
    (alone,) = check_draft({"topic.creation.g.regex": ".*"})
    assert "'topic.creation' is missing" in alone.errors[0]
