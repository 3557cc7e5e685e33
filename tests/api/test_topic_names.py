"""Names that Kafka does not allow become names of topics, and no two of them the same."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.api.topic_names import MAX_LENGTH, name_of_topic, topic_name

LEGAL = re.compile(r"[A-Za-z0-9._-]{1,249}")
NAMES = st.text(st.sampled_from("ab_x0020F. é/:💧\x00") | st.characters(), min_size=1)


@pytest.mark.parametrize("name", ["orders", "db.public.orders", "a-b_c", "_x", "_x0020", "x0020_", "_x00g0_"])
def test_names_of_topics_are_left_as_they_are(name: str) -> None:
    assert topic_name(name) == name


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("order items", "order_x0020_items"),
        ("Stra\u00dfe", "Stra_x00DF_e"),
        ("a/b", "a_x002F_b"),
        ("\U0001f4a7", "_x1F4A7_"),
        ("a_x0020_b", "a_x005F_x0020_b"),
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
    assert name_of_topic(topic) == name


def test_long_names_differ_by_a_checksum() -> None:
    one, other = topic_name("\u00e9" * 200), topic_name("\u00e9" * 201)
    assert len(one) == len(other) == MAX_LENGTH
    assert one != other
    assert one == topic_name("\u00e9" * 200)
