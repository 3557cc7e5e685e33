"""The archive of the classes of a host's JVM: made once, and mapped by the JVMs that start after that."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.embedded import class_data as archives
from penstock.embedded import home
from penstock.hosts.jvm import class_data
from penstock.hosts.jvm.build import class_path
from penstock.hosts.jvm.messages.worker import OpenSession
from penstock.hosts.jvm.process import CLASS_DATA, JvmSpec, open_session


def maps(spec: JvmSpec) -> str:
    session = open_session(spec, OpenSession("test"))
    try:
        return Path(f"/proc/{session.pid}/maps").read_text()
    finally:
        session.close()


@pytest.mark.integration
@pytest.mark.skipif(sys.platform != "linux", reason="/proc says what a process has mapped")
def test_a_jvm_starts_with_its_own(jvm_spec: JvmSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = home()
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "a home"))
    home().mkdir()
    for name in ("jars", "java", "hosts"):
        (home() / name).symlink_to(real / name)
    spec = replace(jvm_spec, class_path=class_path())
    made = archives.archive(CLASS_DATA, spec.java, spec.class_path)
    class_data.make_when_quiet(spec, 0)
    assert made.stat().st_size > 0
    assert str(made) in maps(spec)
    assert str(made) not in maps(replace(spec, options=(*spec.options, "-Xshare:off")))
