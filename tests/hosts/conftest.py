from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.embedded.java import java
from penstock.hosts.jvm.class_path import class_path
from penstock.hosts.jvm.process import JvmSpec, open_session
from penstock.hosts.jvm.session import Session
from support.worker_process import QUICK_JAVA

OpenSession = Callable[..., Session]


@pytest.fixture(scope="session")
def host_class_path() -> list[Path]:
    return class_path()


@pytest.fixture
def jvm_spec(host_class_path: list[Path], request: pytest.FixtureRequest) -> JvmSpec:
    """A JVM of this test alone; it ends a second after its last session."""
    settings = {"plugin.path": "", "linger.ms": 1000}
    return JvmSpec(request.node.nodeid, java().executable, host_class_path, (QUICK_JAVA, "-Xmx256m"), settings)


@pytest.fixture
def open_sessions(jvm_spec: JvmSpec) -> Iterator[OpenSession]:
    """Opens sessions, and closes them after the test."""
    opened: list[Session] = []

    def open_one(**about: Any) -> Session:
        callbacks = about.pop("callbacks", {})
        opened.append(open_session(about.pop("spec", jvm_spec), {"name": "test", **about}, callbacks))
        return opened[-1]

    yield open_one
    for each in opened:
        each.close()
