"""The end of a session whose other side has gone: the plugin's task is stopped, and its ``stop`` is not interrupted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from penstock.hosts.jvm.messages.base import PluginReference
from penstock.hosts.jvm.messages.tasks import (
    CreateJavaSinkTask,
    CreateJavaSourceTask,
    JavaTaskReference,
    PollJavaTask,
    PutJavaRecords,
    StartJavaSinkTask,
    StartJavaSourceTask,
    StopJavaSinkTask,
    StopJavaSourceTask,
)
from penstock.hosts.jvm.messages.worker import CreateJavaPolicy
from penstock.hosts.jvm.plugins.catalogue import find
from penstock.hosts.jvm.process import JvmSpec
from support.tasks.runs import eventually

from .conftest import OpenSessions

NAME = "penstock.tests.Conduct"
STOPPED = ["stop", "lingered"]


@pytest.fixture
def spec(jvm_spec: JvmSpec, conduct: str) -> JvmSpec:
    found = find((conduct,), None)
    assert found is not None
    return replace(jvm_spec, settings={**jvm_spec.settings, "catalogue": str(found.file)})


def config(journal: Path, **deeds: str) -> dict[str, str]:
    return {"topic": "t", "task": "0", "journal": str(journal), **{f"at.{name}": deed for name, deed in deeds.items()}}


def calls(journal: Path) -> list[str]:
    return [line.split()[0] for line in journal.read_text().splitlines()] if journal.exists() else []


def reference(kind: str) -> JavaTaskReference:
    return JavaTaskReference(f"{NAME}{kind}", None, f"{NAME}{kind}Task")


@pytest.mark.parametrize("asked", [True, False])
def test_a_source_is_stopped_in_peace(open_sessions: OpenSessions, spec: JvmSpec, tmp_path: Path, asked: bool) -> None:
    journal = tmp_path / "journal"
    session = open_sessions(spec=spec, answer=lambda message, payload: [None])  # it asks for its offset
    session.call(CreateJavaSourceTask(reference("Source")))
    session.call(StartJavaSourceTask(config(journal, stop="linger 1000"), transactions=False))
    session.call(PollJavaTask([]))
    if asked:
        session.begin(StopJavaSourceTask())
        eventually(lambda: "stop" in calls(journal))
    session.close()
    assert calls(journal)[-2:] == STOPPED


@pytest.mark.parametrize("asked", [True, False])
def test_a_sink_is_stopped_in_peace(open_sessions: OpenSessions, spec: JvmSpec, tmp_path: Path, asked: bool) -> None:
    journal = tmp_path / "journal"
    session = open_sessions(spec=spec)
    given = {"topics": "t", "file": str(tmp_path / "out"), **config(journal, stop="linger 1000")}
    session.call(CreateJavaSinkTask(reference("Sink"), "sink", 0, given, reporter=False))
    session.call(StartJavaSinkTask())
    if asked:
        session.begin(StopJavaSinkTask())
        eventually(lambda: "stop" in calls(journal))
    session.close()
    assert calls(journal)[-2:] == STOPPED


def test_a_sink_is_stopped_after_the_put_that_runs(open_sessions: OpenSessions, spec: JvmSpec, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    session = open_sessions(spec=spec)
    given = {"topics": "t", "file": str(tmp_path / "out"), **config(journal, **{"put.nothing": "linger 1000"})}
    session.call(CreateJavaSinkTask(reference("Sink"), "sink", 0, given, reporter=False))
    session.call(StartJavaSinkTask())
    session.begin(PutJavaRecords([]))
    eventually(lambda: "put.nothing" in calls(journal))
    session.close()
    assert calls(journal)[-3:] == ["put.nothing", "lingered", "stop"]


def test_an_override_policy_is_closed(open_sessions: OpenSessions, spec: JvmSpec, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    session = open_sessions(spec=spec)
    session.call(CreateJavaPolicy(PluginReference(f"{NAME}Policy"), {"journal": str(journal)}))
    assert calls(journal) == []
    session.close()
    assert calls(journal) == ["close"]
