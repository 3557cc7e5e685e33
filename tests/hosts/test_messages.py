"""The messages of the JVM host are the same in Python and in Java."""

from __future__ import annotations

import re
from typing import Any, get_args

import msgspec
import pytest

from penstock.hosts.jvm.build import SOURCES
from penstock.hosts.jvm.messages.base import JavaRequest
from penstock.hosts.jvm.messages.batches import BatchInput
from penstock.hosts.jvm.messages.from_jvm import FromJvm
from penstock.hosts.jvm.messages.protocol import ENVELOPES_FROM_JVM, FROM_JVM, ReplyFromJvm, ToJvm
from penstock.hosts.jvm.messages.worker import ProvidedConfig, ReadProvidedConfig
from penstock.hosts.jvm.session import reply_of, reply_type
from penstock.wire.calls import RemoteReply
from penstock.wire.messages import MessageError

Table = dict[str, set[str]]


def java_table(name: str) -> Table:
    """Return a table of ``Messages.java``: names of fields by name of a message."""
    text = (SOURCES / "penstock" / "host" / "Messages.java").read_text()
    found = re.search(rf'> {name} = table\("""\n(.*?)"""\);', text, re.DOTALL)
    assert found is not None
    lines = (line.strip().partition(":") for line in found[1].strip().splitlines())
    return {message: set(fields.split()) for message, _, fields in lines}


def fields(struct: Any) -> set[str]:
    return set(struct.__struct_encode_fields__)


def python_table(union: Any) -> Table:
    return {str(each.__struct_config__.tag): fields(each) for each in get_args(union)}


def reply_fields(request: type[JavaRequest[Any]]) -> set[str]:
    """Return the fields of the objects that a request may get as its reply."""
    type = reply_type(request)
    structs = [each for each in get_args(type) or (type,) if isinstance(each, msgspec.StructMeta)]
    found = set().union(*map(fields, structs))
    return found | {"type"} if any(each.__struct_config__.tag for each in structs) else found


def test_java_receives_the_messages_that_python_sends() -> None:
    assert java_table("RECEIVED") == {**python_table(ToJvm), **python_table(BatchInput)}


def test_java_sends_the_messages_that_python_receives() -> None:
    assert java_table("SENT") == python_table(FromJvm)


def test_java_replies_what_python_expects() -> None:
    expected = {str(each.__struct_config__.tag): reply_fields(each) for each in get_args(ToJvm)}
    lists = {"metrics", "connector.validate", "definition.validate", "policy.validate", "source.commitRecords"}
    assert java_table("REPLIES") == {name: found for name, found in expected.items() if found and name not in lists}


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (b'{"type":"log","lines":[],"texts":"t"}', "invalid message log of the JVM host: .*`texts`"),
        (b'{"type":"sink.ending"}', "the JVM host has no message 'sink.ending'"),
    ],
)
def test_an_unknown_message_or_field_of_java_is_an_error_that_names_it(message: bytes, said: str) -> None:
    with pytest.raises(MessageError, match=said):
        FROM_JVM.decode(message)


def test_half_a_surrogate_pair_of_java_is_a_question_mark() -> None:
    """Jackson may write half a pair in texts that a plugin logs, throws or returns."""
    reply = rb'{"type":"reply","number":1,"result":{"data":{"cut \ud83d":"\ud83d\ude00"},"ttl":null}}'
    envelope = ENVELOPES_FROM_JVM.decode(reply)
    assert isinstance(envelope, ReplyFromJvm)
    found = reply_of(ReadProvidedConfig("p", None), RemoteReply(envelope.result))
    assert found.result == ProvidedConfig({"cut ?": "😀"}, None)


def test_every_message_names_its_meaning() -> None:
    messages = [*get_args(ToJvm), *get_args(FromJvm)]
    assert [each.__name__ for each in messages if len((each.__doc__ or "").split()) < 2] == []


@pytest.mark.parametrize("source", ["tasks", "plugins", "."])
def test_java_sends_nothing_that_its_table_does_not_have(source: str) -> None:
    """The table is also checked at run time; this test finds a misspelt name earlier."""
    files = (SOURCES / "penstock" / "host" / source).glob("*.java")
    sent = {name for file in files for name in re.findall(r'session\.(?:call|tell)\(\s*"([^"]+)"', file.read_text())}
    assert sent - set(java_table("SENT")) == set()
