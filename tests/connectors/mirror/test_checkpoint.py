"""Checkpoints of groups: which are worth writing, which are committed, and to which topics they belong."""

from __future__ import annotations

from math import inf
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.api.errors import RetriableError
from penstock.api.kafka import KafkaRequestError
from penstock.api.sink import TopicPartition
from penstock.connectors.mirror import MirrorCheckpointConnector
from penstock.connectors.mirror.checkpoint.known import MISSING_SECONDS, KnownCheckpoints
from penstock.connectors.mirror.checkpoint.task import MirrorCheckpointTask, is_news, to_commit
from penstock.connectors.mirror.checkpoint.translation import OffsetTranslation
from penstock.connectors.mirror.config import MirrorConfig
from penstock.connectors.mirror.records import Checkpoint, OffsetSync
from penstock.connectors.mirror.settings import CHECKPOINT_SETTINGS
from support.mirror.setup import mirror_config, started

PARTITION = TopicPartition("a.t", 0)


def checkpoint(upstream: int, downstream: int) -> Checkpoint:
    return Checkpoint("g", PARTITION, upstream, downstream, "")


@pytest.mark.parametrize(
    ("upstream", "downstream", "news"),
    [
        (10, 5, False),  # the same again
        (11, 5, False),  # not farther on the target
        (12, 6, True),
        (12, 4, False),  # back on the target only
        (9, 4, True),  # the group itself went back
    ],
)
def test_changed_offsets_are_worth_a_checkpoint(upstream: int, downstream: int, news: bool) -> None:
    assert is_news(checkpoint(upstream, downstream), checkpoint(10, 5)) is news
    assert is_news(checkpoint(upstream, downstream), None)


def test_groups_never_go_back_on_the_target() -> None:
    known = {PARTITION: checkpoint(10, 5)}
    offset = {PARTITION: (5, "")}
    assert to_commit(known, None) == offset, "the group is new"
    assert to_commit(known, {}) == offset
    assert to_commit(known, {PARTITION: (4, "")}) == offset
    assert to_commit(known, {PARTITION: (5, "")}) == {}
    assert to_commit(known, {PARTITION: (6, "")}) == {}


class Target:
    """A cluster of which groups exist with or without members, are not there, or can't be asked for."""

    def __init__(self, **groups: str) -> None:
        self.groups = groups
        self.end = 5
        self.ids: dict[str, str | None] = {"a.t": None}
        self.commits: list[str] = []

    def is_idle(self, group: str, timeout: float) -> bool | None:
        if self.groups[group] == "away":
            raise KafkaRequestError("Timed out", "_TIMED_OUT", unreached=True)
        return None if self.groups[group] == "missing" else self.groups[group] == "idle"

    def committed(self, group: str, timeout: float) -> dict[TopicPartition, tuple[int, str]]:
        return {PARTITION: (4, "")}

    def topic_ids(self, topics: set[str], timeout: float) -> dict[str, str | None]:
        return {each: id for each, id in self.ids.items() if each in topics}

    def ends(self, partitions: set[TopicPartition], timeout: float) -> dict[TopicPartition, int | KafkaRequestError]:
        return dict.fromkeys(partitions, self.end)

    def commit(self, group: str, offsets: object) -> None:
        self.commits.append(group)


def with_checkpoints(target: Target) -> Any:
    """Return a task that knows a checkpoint of each of the target's groups."""
    task: Any = MirrorCheckpointTask()
    task._config = MirrorConfig(CHECKPOINT_SETTINGS, mirror_config("127.0.0.1:1", "a", "b"))
    task._target, task._timeout, task._idle = target, 1.0, {}
    task._groups = [*target.groups]
    task._checkpoints, task._identified = KnownCheckpoints("b"), True
    task._checkpoints.known = {group: {PARTITION: checkpoint(10, 5)} for group in target.groups}
    return task


def test_a_group_that_had_members_a_moment_ago_is_not_set_back(caplog: pytest.LogCaptureFixture) -> None:
    """They leave after the target was asked, as in a rolling restart, and have committed more than is translated."""
    target = Target(used="members", idle="idle", new="missing")
    task = with_checkpoints(target)
    task._look_for_idle()
    target.groups["used"] = "idle"
    task._commit_groups()
    assert target.commits == ["idle", "new"]
    assert "Unable to sync offsets for consumer group used." in caplog.text
    task._look_for_idle()
    task._commit_groups()
    assert target.commits[2:] == ["used", "idle", "new"]


def test_nothing_is_committed_for_a_group_of_which_the_target_does_not_tell() -> None:
    """The group may be ahead on the target. For a group that does not exist there, offsets are committed."""
    target = Target(away="away", new="missing")
    task = with_checkpoints(target)
    task._look_for_idle()
    task._commit_groups()
    assert target.commits == ["new"]
    target.groups["away"] = "missing"
    task._look_for_idle()
    task._commit_groups()
    assert target.commits == ["new", "away", "new"]
    target.end = 4
    task._look_for_idle()
    task._commit_groups()
    assert target.commits == ["new", "away", "new"], "5 is beyond the end, so it is an offset of another topic"


def test_a_group_goes_back_from_the_offset_that_it_was_committed_at_while_its_topic_was_created_again() -> None:
    target = Target(g="idle")
    task: Any = MirrorCheckpointTask()
    task._config = MirrorConfig(CHECKPOINT_SETTINGS, mirror_config("127.0.0.1:1", "a", "b"))
    task._target, task._timeout, task._checkpoints, task._identified = target, 1.0, KnownCheckpoints("b"), True
    task._translation = OffsetTranslation()
    task._unanswered, task._active, target.ids = set(), set(), {"a.t": "1"}
    task._checkpoints.note([checkpoint(10, 5)], {"a.t": "0"})
    task._look(target.ids)
    task._checkpoints.note([checkpoint(11, 3)], target.ids)
    for offset in (6, 5, 5):
        task._idle = {"g": {PARTITION: (offset, "")}}
        task._commit_groups()
    assert target.commits == ["g"], "6 is a consumer's position, 5 is that of the earlier topic"


@pytest.mark.parametrize(
    ("syncs", "downstream"),
    [
        ([(5, 5), (10, 10)], None),  # of the earlier topic, which the checkpoint is by
        ([(5, 5), (10, 10), (20, 0), (29, 9)], 9),  # 10 is before the first of the new topic
        ([(5, 0), (10, 3)], 4),  # the topic is mirrored again from an earlier record
    ],
)
def test_syncs_of_a_topic_that_was_created_again_are_told_from_those_of_the_earlier_one(
    syncs: list[tuple[int, int]], downstream: int | None
) -> None:
    task: Any = MirrorCheckpointTask()
    task._config = MirrorConfig(CHECKPOINT_SETTINGS, mirror_config("127.0.0.1:1", "a", "b"))
    task._target, task._timeout, task._checkpoints = Target(), 1.0, KnownCheckpoints("b")
    task._translation = OffsetTranslation()
    task._translation.must_read_to_end = False
    for each in syncs:
        task._translation.add(OffsetSync(TopicPartition("t", 0), *each))
    task._translation.at_end = True
    task._checkpoints.note([checkpoint(10, 10)], {"a.t": "0"})
    task._target.ids = {"a.t": "1"}
    task._look({"a.t"})
    assert task._translation.downstream(TopicPartition("t", 0), 29) == downstream


def test_checkpoints_belong_to_the_mirrored_topics_that_they_were_written_for() -> None:
    """Checkpoints without an ID, of Java or an older version, are taken to belong to the topic that is there now."""
    other, gone = TopicPartition("a.u", 0), TopicPartition("a.v", 0)
    ids = {"a.t": "1", "a.u": "1", "a.v": "1"}
    target: Any = SimpleNamespace(topic_ids=lambda topics, timeout: {each: ids[each] for each in topics if each in ids})
    kept = KnownCheckpoints("b")
    kept.note([checkpoint(10, 5), Checkpoint("h", other, 7, 7, "")], {"a.t": "0", "a.u": None})
    kept.note([Checkpoint("h", PARTITION, 9, 2, "")], {"a.t": "1"})
    look = kept.look(target, ids, 1.0)
    assert (look.ids, look.renewed) == (ids, {}), "a checkpoint of a.t was written for the new topic, after its syncs"
    assert kept.known == {"g": {}, "h": {PARTITION: Checkpoint("h", PARTITION, 9, 2, ""), other: of_h(7)}}
    ids |= {"a.t": "2", "a.u": "2"}
    del ids["a.v"]
    look = kept.look(target, {"a.t", "a.u", "a.v", "a.w"}, 1.0)
    assert look.ids == {"a.t": "2", "a.u": "2"}, f"{gone.topic} is deleted, the broker may not know a.w yet"
    assert look.is_open
    assert look.renewed == {"a.t": [Checkpoint("h", PARTITION, 9, 2, "")], "a.u": [of_h(7)]}
    assert kept.known == {"g": {}, "h": {}}
    kept._missing["a.w"] -= MISSING_SECONDS
    look = kept.look(target, {"a.v", "a.w"}, 1.0)
    assert (look.ids, look.is_open) == ({"a.w": ""}, False), "a.w was never there"
    early = Checkpoint("h", TopicPartition("a.w", 0), 3, 3, "")
    kept.note([early], look.ids)
    ids["a.w"] = "1"
    assert kept.look(target, {"a.w"}, 1.0).renewed == {"a.w": [early]}, (
        "the topic for which it was written did not exist"
    )


def of_h(offset: int) -> Checkpoint:
    return Checkpoint("h", TopicPartition("a.u", 0), offset, offset, "")


def failure(code: str) -> KafkaRequestError:
    return KafkaRequestError("no", code, unreached=code == "_TIMED_OUT")


PASSING = ("_TIMED_OUT", "UNKNOWN", "_AUTHENTICATION")
REFUSED = ("TOPIC_AUTHORIZATION_FAILED", "UNSUPPORTED_VERSION", "_UNSUPPORTED_FEATURE")


@pytest.mark.parametrize(
    ("code", "usable"), [*((code, {}) for code in PASSING), *((code, {"a.t": None}) for code in REFUSED)]
)
def test_checkpoints_wait_for_brokers_that_do_not_answer_but_not_for_rights(code: str, usable: dict[str, None]) -> None:
    def refuse(topics: object, timeout: float) -> dict[str, str]:
        raise failure(code)

    kept = KnownCheckpoints("b")
    kept.note([checkpoint(10, 5)], {"a.t": "0"})
    target: Any = SimpleNamespace(topic_ids=refuse)
    assert kept.look(target, {"a.t"}, 1.0).ids == usable
    assert kept.known == {"g": {PARTITION: checkpoint(10, 5)}}
    target.topic_ids = lambda topics, timeout: dict.fromkeys(topics, "1")
    assert kept.look(target, {"a.t"}, 1.0).ids == (usable or {"a.t": "1"}), "a refused request is not repeated"


def test_a_topic_that_may_not_be_seen_or_has_no_leader_says_nothing_about_others() -> None:
    refused, waiting, seen, missing = (TopicPartition(f"a.{each}", 0) for each in "rwsm")
    ids = {"a.r": failure("TOPIC_AUTHORIZATION_FAILED"), "a.w": failure("LEADER_NOT_AVAILABLE"), "a.s": "1"}
    ends: dict[TopicPartition, Any] = {
        refused: failure("TOPIC_AUTHORIZATION_FAILED"),
        waiting: failure("LEADER_NOT_AVAILABLE"),
        seen: 7,
    }
    asked: list[set[object]] = []

    def answers(given: dict[Any, Any], each: set[object]) -> dict[object, Any]:
        asked.append(each)
        return {one: answer for one, answer in given.items() if one in each}

    target: Any = SimpleNamespace(
        topic_ids=lambda each, timeout: answers(ids, each), ends=lambda each, timeout: answers(ends, each)
    )
    kept = KnownCheckpoints("b")
    for count in (3, 2):
        assert kept.look(target, set(ids), 1.0).ids == {"a.r": None, "a.s": "1"}
        assert len(asked.pop()) == count
        assert kept.ends(target, {refused, waiting, seen, missing}, 1.0) == {refused: inf, seen: 7, missing: inf}
        assert len(asked.pop()) == count + 1


def test_topics_of_brokers_without_ids_are_not_taken_for_missing_ones() -> None:
    ids: dict[str, str | None] = {"a.t": None}
    target: Any = SimpleNamespace(topic_ids=lambda topics, timeout: ids)
    kept = KnownCheckpoints("b")
    look = kept.look(target, {"a.t"}, 1.0)
    assert (look.ids, look.is_open) == ({"a.t": None}, False)
    kept.note([checkpoint(10, 5)], look.ids)
    ids["a.t"] = "1"
    look = kept.look(target, {"a.t"}, 1.0)
    assert (look.ids, look.renewed) == (ids, {}), "the brokers were updated"
    assert kept.known == {"g": {PARTITION: checkpoint(10, 5)}}


def test_checkpoints_wait_for_a_topic_that_a_broker_does_not_know_yet() -> None:
    """If one were written, it would count as that of an earlier topic, and the offset syncs would be lost."""
    ids: dict[str, str] = {}
    target: Any = SimpleNamespace(topic_ids=lambda topics, timeout: ids)
    kept = KnownCheckpoints("b")
    look = kept.look(target, {"a.t"}, 1.0)
    assert (look.ids, look.is_open) == ({}, True)
    ids["a.t"] = "1"
    look = kept.look(target, {"a.t"}, 1.0)
    assert (look.ids, look.renewed, look.is_open) == (ids, {}, False)


def test_the_syncs_of_an_earlier_topic_are_forgotten_before_another_thread_can_look() -> None:
    target: Any = SimpleNamespace(topic_ids=lambda topics, timeout: {"a.t": "1"})
    kept = KnownCheckpoints("b")
    kept.note([checkpoint(10, 5)], {"a.t": "0"})
    locked: list[tuple[bool, object]] = []
    kept.look(target, {"a.t"}, 1.0, lambda renewed: locked.append((kept._lock.locked(), renewed)))
    assert locked == [(True, {"a.t": [checkpoint(10, 5)]})]


def test_a_connector_that_is_disabled_has_no_tasks() -> None:
    """Otherwise the tasks that it had before would go on."""
    with started(MirrorCheckpointConnector(), mirror_config("127.0.0.1:1", "a", "b", enabled="false")) as connector:
        assert connector.task_configs(1) == []


def test_groups_that_are_not_known_yet_are_asked_for_again() -> None:
    connector = MirrorCheckpointConnector()
    config = mirror_config("127.0.0.1:1", "a", "b", admin_timeout_ms="500")
    with started(connector, config), pytest.raises(RetriableError, match=r"Timeout while loading consumer groups\."):
        connector.task_configs(1)
