"""Addresses of the members of a group, as a member that does not lead learns them from a real broker."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.kafka.group.members import FRESH_S, KEPT_S, GroupMembers
from support.kafka.group_worker import Worker, settled, until

pytestmark = [pytest.mark.integration, pytest.mark.security]


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_members_are_those_of_the_present(start: Callable[..., Worker], bootstrap: str, group: str) -> None:
    a, b = start("a"), start("b")
    until(lambda: settled(a, b), "a and b share")
    clock = Clock()
    members = GroupMembers({"bootstrap.servers": bootstrap, "group.id": group}, group, clock)
    assert members.urls() == ("http://a:8083/", "http://b:8083/")
    b.stop()
    until(lambda: settled(a), "a runs everything")
    assert members.urls() == ("http://a:8083/", "http://b:8083/")  # asked a moment ago
    clock.now += FRESH_S + 1
    assert members.urls() == ("http://a:8083/",)


def test_a_coordinator_that_says_nothing(bootstrap: str, start: Callable[..., Worker], group: str) -> None:
    clock = Clock()
    settings = {"bootstrap.servers": bootstrap, "group.id": group}
    members = GroupMembers(settings, group, clock)
    assert members.urls() == ()  # there is no such group
    a = start("a")
    until(lambda: settled(a), "a runs everything")
    clock.now += FRESH_S + 1
    assert members.urls() == ("http://a:8083/",)
    a.stop()
    until(lambda: (members._describe(), clock)[0] == (), "the group is empty")
    clock.now += FRESH_S + 1
    assert members.urls() == ("http://a:8083/",)  # as in a rebalance
    clock.now += KEPT_S
    assert members.urls() == ()
    unreachable = GroupMembers({"bootstrap.servers": "localhost:1", "group.id": group}, group)
    assert unreachable.urls() == ()
