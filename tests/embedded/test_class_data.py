"""Archives of Java's classes: when they are used, and that each is made once."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from penstock.embedded import Broker, broker_class_data, class_data, home
from penstock.embedded.jars import jars
from penstock.embedded.java import java


@pytest.fixture
def jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A jar, and a home of its own."""
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "a home"))
    for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    jar = tmp_path / "a.jar"
    jar.write_bytes(b"jar")
    return jar


@pytest.fixture
def executable(tmp_path: Path) -> Path:
    folder = tmp_path / "java"
    (folder / "lib" / "server").mkdir(parents=True)
    (folder / "bin").mkdir()
    return folder / "bin" / "java"


def test_one_that_is_there_is_used_unless_the_user_decides(
    jar: Path, executable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = class_data.archive("x", executable, [jar])
    assert class_data.options("x", executable, [jar]) == []
    class_data.make(made, lambda draft: None)
    assert made.read_bytes() == b""
    assert class_data.options("x", executable, [jar]) == [], "this Java can't make one"
    made.write_bytes(b"classes")
    assert class_data.options("x", executable, [jar], ["-Xmx1g"]) == class_data.using(made)
    for own in ("-Xshare:off", "-XX:SharedArchiveFile=/own.jsa", "-XX:ArchiveClassesAtExit=/own.jsa"):
        assert class_data.options("x", executable, [jar], ["-Xmx1g", own]) == []
    assert class_data.options("y", executable, [jar]) == []
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xshare:off")
    assert class_data.options("x", executable, [jar]) == []


def test_another_java_and_other_jars_have_another(jar: Path, executable: Path) -> None:
    first = class_data.archive("x", executable, [jar])
    assert class_data.archive("x", executable, [jar]) == first
    (executable.parent.parent / "release").write_text('JAVA_VERSION="26"')
    second = class_data.archive("x", executable, [jar])
    os.utime(jar, (1, 1))
    third = class_data.archive("x", executable, [jar])
    assert len({first, second, third, class_data.archive("x", executable, [])}) == 4
    jar.unlink()
    assert class_data.options("x", executable, [jar]) == []


def test_it_is_made_once_and_not_by_two_at_a_time(jar: Path, executable: Path) -> None:
    made, runs = class_data.archive("x", executable, [jar]), []

    def run(draft: Path) -> None:
        class_data.make(made, lambda draft: pytest.fail("it is being made"))
        runs.append(draft)
        draft.write_bytes(b"classes")

    class_data.make(made, run)
    class_data.make(made, run)
    assert len(runs) == 1
    assert made.read_bytes() == b"classes"
    assert {each.name for each in made.parent.iterdir()} == {made.name, made.with_suffix(".lock").name}


def test_what_is_missing_is_made_by_a_process(
    jar: Path, executable: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = class_data.archive("x", executable, [jar])
    made.parent.mkdir(parents=True)
    (tmp_path / "maker.py").write_text("import sys\nwith open(sys.argv[1], 'a') as file: file.write('classes')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for _ in range(2):
        class_data.make_when_quiet(["maker", str(made)], made, 0)
        assert made.read_text() == "classes"


@pytest.mark.integration
@pytest.mark.skipif(sys.platform != "linux", reason="/proc says what a process has mapped")
def test_a_broker_starts_with_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = home()
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "a home"))
    home().mkdir()
    for name in ("jars", "java"):
        (home() / name).symlink_to(real / name)
    makers = [threading.Thread(target=broker_class_data.make) for _ in range(2)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    made = class_data.archive("broker", java().executable, jars("kafka"))
    assert made.stat().st_size > 0
    with Broker() as broker:
        assert str(made) in Path(f"/proc/{broker.pid}/maps").read_text()
