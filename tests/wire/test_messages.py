"""Typed messages: what is encoded arrives unchanged, and what is no message is an error that names it."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.wire.messages import Message, MessageCodec, MessageError


class Opened(Message, frozen=True):
    name: str
    places: tuple[str, ...] = ()


class Measured(Message, frozen=True):
    values: dict[str, Any]


class Closed(Message, frozen=True, tag="closed"):
    pass


CODEC = MessageCodec[Opened | Measured | Closed]("the protocol of this test", Opened | Measured | Closed)


@pytest.mark.parametrize(
    "message",
    [
        Opened("a", ("b", "ü")),
        Opened("file \udc80", ("\ud83d",)),
        Measured({"big": 2**63, "beyond 64 bits": 2**70, "double": 1e300, "nested": [{"a": None}]}),
        Measured({"\udc80": {"deep": "\udcff"}}),
        Closed(),
    ],
    ids=lambda message: type(message).__name__,
)
def test_a_message_arrives_unchanged(message: Any) -> None:
    assert CODEC.decode(CODEC.encode(message)) == message


def test_defaults_are_not_sent() -> None:
    assert CODEC.encode(Opened("a")) == b'{"type":"Opened","name":"a"}'


def test_values_of_subclasses_arrive_as_plain_ones() -> None:
    class Name(str):
        def __str__(self) -> str:
            return "another"

    class Share(float):
        pass

    found = CODEC.decode(CODEC.encode(Measured({"name": Name("n"), "share": Share(0.5), "bad": ["\udc80", Name("m")]})))
    assert found == Measured({"name": "n", "share": 0.5, "bad": ["\udc80", "m"]})
    with pytest.raises(TypeError, match="a value of type object is none of JSON's"):
        CODEC.encode(Measured({"x": object()}))


def test_keys_become_texts_as_in_json() -> None:
    assert CODEC.decode(CODEC.encode(Measured({"x": {1: 2, None: 3}}))) == Measured({"x": {"1": 2, "null": 3}})


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"type":"Opend","name":"a"}', "the protocol of this test has no message 'Opend'"),
        (b'{"type":"Opend","name":"\\udc80"}', "the protocol of this test has no message 'Opend'"),
        (b'{"type":"Opened"}', "invalid message Opened of the protocol of this test: .*missing required field `name`"),
        (b'{"type":"Opened","name":1}', r"invalid message Opened .* Expected `str`, got `int` - at `\$.name`"),
        (b'{"type":"Opened","name":"\\udc80","x":1}', "invalid message Opened .* unknown field `x`"),
        (b'{"name":"a"}', r"not a message of the protocol of this test: .*`type`: b'{\"name\":\"a\"}'"),
        (b'{"type":1}', "not a message of the protocol of this test"),
        (b"[1]", "not a message of the protocol of this test"),
        (b"{", "not a message of the protocol of this test"),
        (b"\xff", "not a message of the protocol of this test"),
        (b'{"type":"Measured","values":{"a":' + b"[" * 100_000, "the protocol of this test"),
    ],
)
def test_what_is_no_message_is_an_error_that_names_it(body: bytes, said: str) -> None:
    with pytest.raises(MessageError, match=said):
        CODEC.decode(body)


def test_halves_of_surrogate_pairs_become_question_marks_where_java_writes_them() -> None:
    codec = MessageCodec[Opened]("Java's protocol", Opened, replace_surrogates=True)
    assert codec.decode(b'{"type":"Opened","name":"cut \\ud83d"}') == Opened("cut ?")


def test_the_messages_of_a_protocol_are_listed() -> None:
    assert CODEC.classes == (Opened, Measured, Closed)
    assert MessageCodec[Opened]("one", Opened).classes == (Opened,)
