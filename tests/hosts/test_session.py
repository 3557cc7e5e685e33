"""A JVM for plugins: it is started once and joined, its errors are Java's, and its death is noticed."""

from __future__ import annotations

import os
import signal
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from penstock.api.batch import Batch
from penstock.api.errors import KafkaError
from penstock.hosts.errors import HostLost
from penstock.hosts.jvm import process
from penstock.hosts.jvm.codec.schema_table import SchemaTable
from penstock.hosts.jvm.messages.base import JavaRequest
from penstock.hosts.jvm.messages.batches import KeepBatch
from penstock.hosts.jvm.messages.worker import DescribeJvm, OpenSession
from penstock.hosts.jvm.plugins.catalogue import JavaPlugin
from penstock.hosts.jvm.plugins.control import ControlJvm
from penstock.hosts.jvm.plugins.worker import JavaConfigProvider
from penstock.hosts.jvm.process import JvmSpec, JvmStartError, how_ended, open_session
from penstock.hosts.jvm.session import JvmSession
from penstock.hosts.jvm.tasks.remote_batch import input_of
from penstock.hosts.jvm.tasks.task_jvm import task_jvm
from penstock.threads import Threads
from support.tasks.runs import eventually
from support.waiting import SECONDS

from .conftest import OpenSessions


def test_sessions_of_one_key_share_a_jvm_that_ends_after_the_last(open_sessions: OpenSessions) -> None:
    first = open_sessions(thread="task-thread-x-0")
    second = open_sessions()
    assert first.pid == second.pid
    assert second.call(DescribeJvm()).result.sessions == 2
    first.close()
    eventually(lambda: second.call(DescribeJvm()).result.sessions == 1)
    second.close()
    _await_end(first.pid)


def test_records_of_a_session_are_freed_at_its_end(open_sessions: OpenSessions) -> None:
    """Each has records of 40 MB when it ends; the JVM has 256 MB, and goes on for the first session."""
    first = open_sessions()
    batch = Batch.of("t", [bytes(40 << 20)])
    for _ in range(10):
        session = open_sessions()
        table: Any = SimpleNamespace(schemas=SchemaTable())
        sent, payload = input_of(table, batch)
        session.call(KeepBatch(sent, []), payload)
        session.close()
    assert first.call(DescribeJvm()).result.pid == first.pid


def test_files_that_plugins_write_outlive_the_jvm(
    open_sessions: OpenSessions, jvm_spec: JvmSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for ends in (_end, _kill):
        session = open_sessions()
        assert Path(psutil.Process(session.pid).cwd()) == tmp_path
        Path("written").write_text("by a plugin")
        ends(session)
        assert [each.name for each in tmp_path.iterdir()] == ["written"]
    eventually(lambda: (_place(jvm_spec) / "exit").exists())
    first = _place(jvm_spec)
    monkeypatch.setattr(process, "END_SECONDS", -1.0)
    _end(open_sessions())
    eventually(lambda: [each.name for each in jvm_spec.folder().iterdir() if each.is_dir()] == [])
    assert not first.exists()


def _place(spec: JvmSpec) -> Path:
    return spec.folder() / (spec.folder() / "current").read_text()


def _end(session: JvmSession) -> None:
    session.close()
    _await_end(session.pid)


def _kill(session: JvmSession) -> None:
    os.kill(session.pid, signal.SIGKILL)
    session.wait_end()


class Unknown(JavaRequest[None], tag="nothing", frozen=True):
    """A message that the protocol does not have."""


class Misspelt(JavaRequest[None], tag="source.poll", frozen=True):
    """A poll whose field is misspelt."""

    feee: list[int]


Long = type("Long", (Unknown,), {"__module__": __name__}, tag="nothing" * 200_000)  # type: ignore[call-overload]


def test_the_errors_of_java_keep_their_class_message_and_trace(open_sessions: OpenSessions) -> None:
    with pytest.raises(KafkaError, match="There is no message nothing") as caught:
        open_sessions().call(Unknown())
    assert type(caught.value).java_name == "java.lang.IllegalArgumentException"
    assert caught.value.java_trace.startswith(  # type: ignore[attr-defined]
        "java.lang.IllegalArgumentException: There is no message nothing\n\tat penstock.host.Messages"
    )


def test_a_misspelt_field_is_an_error_that_names_it(open_sessions: OpenSessions) -> None:
    with pytest.raises(KafkaError, match=r"^Message source\.poll has no field feee$"):
        open_sessions().call(Misspelt([]))


def test_large_messages_need_little_memory_outside_of_the_heap(open_sessions: OpenSessions, jvm_spec: JvmSpec) -> None:
    """The answer has the name twice, and more than what there is."""
    little = replace(jvm_spec, options=(*jvm_spec.options, "-XX:MaxDirectMemorySize=2m"))
    with pytest.raises(KafkaError, match="There is no message nothing"):
        open_sessions(spec=little).call(Long())


REPORT = """#
# A fatal error has been detected by the Java Runtime Environment:
#
#  SIGSEGV (0xb) at pc=0x00007f0d2a3c1f2d, pid=17, tid=42
#
# JRE version: OpenJDK Runtime Environment (17.0.12+7) (build 17.0.12+7)
# Problematic frame:
# C  [libsnappyjava.so+0x1f2d]  snappy_uncompress+0x1d
#
"""
"""The head of what HotSpot writes when native code crashes; it then aborts."""


@pytest.mark.parametrize(
    ("code", "files", "reason", "by_itself"),
    [
        (
            128 + signal.SIGABRT,
            {"crash.log": REPORT},
            "crashed with SIGSEGV at C [libsnappyjava.so+0x1f2d] snappy_uncompress+0x1d",
            True,
        ),
        (128 + signal.SIGABRT, {"crash.log": "cut off"}, "crashed with a fatal error", True),
        (128 + signal.SIGSEGV, {}, "crashed with SIGSEGV", True),
        (128 + signal.SIGKILL, {}, "was killed by SIGKILL", False),
        (
            3,
            {"output.log": "Terminating due to java.lang.OutOfMemoryError: Java heap space\n"},
            "ran out of memory",
            True,
        ),
        (3, {}, "exited with code 3", True),
    ],
)
def test_how_a_jvm_has_ended(tmp_path: Path, code: int, files: dict[str, str], reason: str, by_itself: bool) -> None:
    (tmp_path / "exit").write_text(f"{code}\n")
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    said, alone = how_ended(tmp_path)
    assert said.removesuffix(" (penstock.java.opts sets its heap)") == f"The JVM of the plugin {reason}"
    assert alone is by_itself


def test_a_jvm_that_crashes_is_lost_with_a_reason(open_sessions: OpenSessions) -> None:
    session = open_sessions()
    os.kill(session.pid, signal.SIGSEGV)
    session.wait_end()
    with pytest.raises(HostLost, match=r"^The JVM of the plugin crashed with SIGSEGV at ") as lost:
        session.call(DescribeJvm())
    assert lost.value.by_itself


def test_a_killed_jvm_is_lost_for_all_who_wait_and_started_again(open_sessions: OpenSessions) -> None:
    session = open_sessions()
    reasons: list[HostLost] = []

    def wait() -> None:
        try:
            while True:
                session.call(DescribeJvm())
        except HostLost as lost:
            reasons.append(lost)

    waiting = threading.Thread(target=wait)
    waiting.start()
    os.kill(session.pid, signal.SIGKILL)
    waiting.join(900)
    assert [(str(lost), lost.by_itself) for lost in reasons] == [("The JVM of the plugin was killed by SIGKILL", False)]
    with pytest.raises(HostLost):
        session.call(DescribeJvm())
    assert open_sessions().pid != session.pid


def test_a_jvm_that_does_not_start_says_why(jvm_spec: JvmSpec) -> None:
    with pytest.raises(JvmStartError, match="Unrecognized VM option 'NoSuchThing'"):
        open_session(replace(jvm_spec, options=("-XX:+NoSuchThing",)), OpenSession())


@pytest.mark.integration
@pytest.mark.parametrize(("process", "heap", "shared"), [("connector", "-Xmx1g", False), ("worker", "-Xmx2g", True)])
def test_a_jvm_is_of_a_connector_or_of_the_worker(process: str, heap: str, shared: bool) -> None:
    worker = {"penstock.java.process": process, "test": uuid.uuid4().hex}
    with ExitStack() as stack:

        def pid(connector: str, task: int) -> int:
            return stack.enter_context(task_jvm(Run(connector, task, worker))).session.pid

        one, same, other = pid("one", 0), pid("one", 1), pid("other", 0)
        assert heap in psutil.Process(one).cmdline()
        assert (one == same, one == other) == (True, shared)
        os.kill(one, signal.SIGKILL)
        assert (pid("one", 2) != one, pid("other", 1) == other) == (True, not shared)


@dataclass
class Run:
    connector: str
    task: int
    worker_config: dict[str, str]
    config: dict[str, str] = field(default_factory=dict)
    connector_config: dict[str, str] = field(default_factory=dict)
    plugin_path: tuple[str, ...] = ()


def _await_end(pid: int) -> None:
    deadline = time.monotonic() + 900
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    raise AssertionError(f"process {pid} has not ended")


def test_a_config_provider_that_hangs_delays_no_other_of_its_calls(jvm_spec: JvmSpec, tmp_path: Path) -> None:
    pipe, file = tmp_path / "pipe", tmp_path / "file"
    os.mkfifo(pipe)
    file.write_text("user=me\n")
    jvm = ControlJvm(lambda: jvm_spec)
    kind = ("configprovider",)
    name = "org.apache.kafka.common.config.provider.FileConfigProvider"
    plugin = JavaPlugin(name, "undefined", tmp_path, "classpath", kind, kind, {})
    provider = type("Provider", (JavaConfigProvider,), {"java_plugin": plugin, "jvm": jvm})()
    provider.configure({})
    try:
        hanging = [Threads().submit(provider.get, str(pipe)) for _ in range(2)]
        assert [provider.get(str(file)) for _ in range(3)] == [{"user": "me"}] * 3
        assert not any(each.done() for each in hanging)
        pipe.write_text("user=late\n")
    finally:
        provider.close()
        jvm.close()


def test_a_call_is_made_again_when_another_one_has_ended_their_jvm(jvm_spec: JvmSpec) -> None:
    jvm, under_way = ControlJvm(lambda: jvm_spec), threading.Event()
    calls: list[int] = []
    ended: list[int] = []

    def innocent(session: JvmSession) -> int:
        calls.append(session.pid)
        under_way.set()
        if len(calls) == 1:
            session.wait_end()
        return session.call(DescribeJvm()).result.pid

    def guilty(session: JvmSession) -> None:
        ended.append(session.pid)
        _kill(session)
        session.call(DescribeJvm())

    try:
        with ThreadPoolExecutor() as pool:
            answer = pool.submit(jvm.attempt, "innocent", "innocent", innocent)
            assert under_way.wait(SECONDS)
            with pytest.raises(HostLost):
                jvm.attempt("guilty", "guilty", guilty)
            assert answer.result(SECONDS) == calls[-1]
        assert calls[0] == ended[0]
        assert (len(calls), len(ended)) == (2, 2)
        with pytest.raises(HostLost):
            jvm.attempt("guilty", "guilty", guilty)
        assert len(ended) == 3, "a call that was alone is not made again"
    finally:
        jvm.close()
