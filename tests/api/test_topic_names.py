"""Names that Kafka does not allow become names of topics, and no two of them the same."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.api.errors import ConnectError
from penstock.api.topic_names import MAX_LENGTH, TopicNames, name_of_topic, topic_name

LEGAL = re.compile(r"[A-Za-z0-9._-]{1,249}")
NAMES = st.text(st.sampled_from("ab_x0020F. é/:💧\x00") | st.characters(), min_size=1)


@pytest.mark.parametrize(
    "name",
    [
        "orders",
        "db.public.orders",
        "a-b_c",
        "_x",
        "_x0020",
        "x0020_",
        "_x00g0_",
        "img_x1920_y",
        "a_x0020_b",
        "a_x005F_b",
    ],
)
def test_names_of_topics_are_left_as_they_are(name: str) -> None:
    assert topic_name(name) == name


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("order items", "order_x0020_items"),
        ("Stra\u00dfe", "Stra_x00DF_e"),
        ("a/b", "a_x002F_b"),
        ("\U0001f4a7", "_x1F4A7_"),
        ("a_x0020_b c", "a_x005F_x0020_b_x0020_c"),
        (".", "_x002E_"),
        ("..", "_x002E__x002E_"),
    ],
)
def test_other_characters_are_written_by_their_codes(name: str, topic: str) -> None:
    assert topic_name(name) == topic
    assert name_of_topic(topic) == name


@given(NAMES)
def test_a_name_is_found_again(name: str) -> None:
    topic = topic_name(name)
    assert LEGAL.fullmatch(topic)
    assert topic not in (".", "..")
    assume(len(topic) < MAX_LENGTH)
    assert topic == name if LEGAL.fullmatch(name) and name not in (".", "..") else name_of_topic(topic) == name


def test_long_names_differ_by_a_checksum() -> None:
    one, other = topic_name("\u00e9" * 200), topic_name("\u00e9" * 201)
    assert len(one) == len(other) == MAX_LENGTH
    assert one != other
    assert one == topic_name("\u00e9" * 200)


@pytest.mark.parametrize("names", [("order items", "order_x0020_items"), (".", "_x002E_")])
def test_two_names_of_one_topic_are_refused_in_either_order(names: tuple[str, str]) -> None:
    for first, second in (names, names[::-1]):
        topics = TopicNames()
        assert topics.topic(first) == topics.topic(first) == names[1]
        with pytest.raises(ConnectError, match=f"`{re.escape(first)}` and `{re.escape(second)}` would both be sent to"):
            topics.topic(second)
