"""The messages of the Python host are the same with ``msgspec`` and, in a plugin's interpreter, without it."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

import penstock
from penstock.hosts.python.messages import (
    FROM_PLUGIN,
    TO_PLUGIN,
    AddPluginMetric,
    AskConnector,
    CallFromPlugin,
    CallPluginSink,
    CallRaised,
    CallReturned,
    CallToPlugin,
    DiscoverPlugins,
    FromPlugin,
    PluginLogLine,
    PluginLogLines,
    PollPlugin,
    StartPluginSource,
    ToPlugin,
)
from penstock.wire import plain
from penstock.wire.messages import MessageError

# Runs as a plugin's interpreter does: without the packages of this one.
ECHO = f"""
import sys
sys.path.insert(0, {str(Path(penstock.__file__).parent / "hosts" / "python")!r})
import boot
boot.use_penstock({str(Path(penstock.__file__).parent)!r})
from penstock.hosts.python.messages import FROM_PLUGIN, TO_PLUGIN
from penstock.hosts.python.serving.main import serve
codec = FROM_PLUGIN if sys.argv[1] == "from" else TO_PLUGIN
for line in sys.stdin:
    try:
        print(codec.encode(codec.decode(line.encode())).decode())
    except ConnectionError as error:
        print(f"{{type(error).__name__}}: {{error}}")
print("msgspec" in sys.modules)
"""
TO = [
    CallToPlugin(DiscoverPlugins(["a", "b"]), 1, None),
    CallToPlugin(AskConnector("m:C", "validate"), 2, "task"),
    CallToPlugin(StartPluginSource({"a": "ä", "n": None}, True), 3, "task", 7),
    CallToPlugin(CallPluginSink("put_batch"), 4, "task"),
    CallToPlugin(PollPlugin(), 5, "task"),
    CallReturned(6),
    CallRaised(7),
]
FROM = [
    CallFromPlugin(PluginLogLines([PluginLogLine("l", 30, "half \ud83d", 1.0)], 2), None, "log"),
    CallFromPlugin(AddPluginMetric("m", "", 0, {"a": "b"}), 1, "background", 3),
    CallReturned(2),
]


def in_a_plugin(side: str, lines: list[bytes]) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ECHO, side], input=b"\n".join(lines), capture_output=True, check=True
    )
    *found, has_msgspec = done.stdout.decode().splitlines()
    assert has_msgspec == "False"
    return found


@pytest.mark.parametrize(("side", "codec", "messages"), [("to", TO_PLUGIN, TO), ("from", FROM_PLUGIN, FROM)])
def test_a_plugins_interpreter_reads_and_writes_the_same_messages(side: str, codec: Any, messages: list[Any]) -> None:
    lines = in_a_plugin(side, [codec.encode(message) for message in messages])
    assert [codec.decode(line.encode()) for line in lines] == messages


INVALID = [
    b'{"type":"call","message":{"type":"nothing"},"number":1}',
    b'{"type":"call","message":{"type":"source.poll","free":[]},"number":1}',
    b'{"type":"call","message":{"type":"sink.call","method":"put"},"number":1}',
    b'{"type":"call","message":{"type":"discover","modules":[1]},"number":1}',
    b'{"type":"call","message":{"type":"discover"},"number":1}',
    b'{"type":"call","message":{"type":"source.poll"},"number":"1"}',
    b'{"type":"reply"}',
    b'{"type":"nothing"}',
    b"[]",
    b"{",
]


def test_both_refuse_the_same_messages() -> None:
    for body in INVALID:
        with pytest.raises(MessageError):
            TO_PLUGIN.decode(body)
    found = in_a_plugin("to", INVALID)
    assert [line.split(":")[0] for line in found] == ["MessageError"] * len(INVALID)
    assert "there is no message 'nothing'" in found[0]
    assert "there is no field `free`" in found[1]


def test_a_number_that_json_lacks_is_refused_where_it_is_sent() -> None:
    """The other side would refuse the message, and end the connection."""

    class Added(plain.Message):
        tags: dict[str, Any]

    codec = plain.MessageCodec[Added]("a test", Added)
    with pytest.raises(TypeError, match="not JSON compliant"):
        codec.encode(Added({"limit": math.nan}))


def test_every_message_has_a_meaning_and_a_name_of_its_own() -> None:
    for union in (ToPlugin, FromPlugin):
        messages = get_args(union)
        assert [each.__name__ for each in messages if not each.__doc__] == []
        assert len({each.__struct_config__.tag for each in messages}) == len(messages)
