from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hosts.conducted import Conducted, Sinks
from hosts.plugins import plugin_path
from penstock.embedded.java import java
from penstock.hosts.jvm.build import class_path
from penstock.hosts.jvm.messages.worker import OpenSession
from penstock.hosts.jvm.plugins.catalogue import find
from penstock.hosts.jvm.process import JvmSpec, open_session
from penstock.hosts.jvm.session import JvmSession, unanswered
from support.kafka.client import Kafka
from support.worker_process import QUICK_JAVA

OpenSessions = Callable[..., JvmSession]


@pytest.fixture(scope="session")
def host_class_path() -> list[Path]:
    return class_path()


@pytest.fixture
def jvm_spec(host_class_path: list[Path], request: pytest.FixtureRequest) -> JvmSpec:
    """A JVM of this test alone; it ends a second after its last session."""
    settings = {"plugin.path": "", "linger.ms": 1000}
    return JvmSpec(request.node.nodeid, java().executable, host_class_path, (QUICK_JAVA, "-Xmx256m"), settings)


@pytest.fixture
def open_sessions(jvm_spec: JvmSpec) -> Iterator[OpenSessions]:
    """Opens sessions, and closes them after the test."""
    opened: list[JvmSession] = []

    def open_one(**about: Any) -> JvmSession:
        answer, spec = about.pop("answer", unanswered), about.pop("spec", jvm_spec)
        opened.append(open_session(spec, OpenSession(**{"name": "test", **about}), answer))
        return opened[-1]

    yield open_one
    for each in opened:
        each.close()


@pytest.fixture(scope="session")
def conduct(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The plugin path of the sources and sinks that do what their configuration says."""
    path = plugin_path(tmp_path_factory.mktemp("plugins"), "conduct", "everything")
    assert find((path,), None) is not None  # so that no test waits for discovery
    return path


@pytest.fixture
def sinks(bootstrap: str, tmp_path: Path, conduct: str) -> Sinks:
    return Sinks(bootstrap, tmp_path, conduct)


@pytest.fixture
def topic(kafka: Kafka) -> str:
    return kafka.create_topic()


@pytest.fixture
def offsets_topic(kafka: Kafka) -> str:
    return kafka.create_topic(config={"cleanup.policy": "compact"})


@pytest.fixture
def conducted(bootstrap: str, topic: str, tmp_path: Path) -> Conducted:
    return Conducted(bootstrap, topic, tmp_path)
