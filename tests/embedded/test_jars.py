from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from penstock.embedded.home import EmbeddedError
from penstock.embedded.jars import SETS, Jar, ensure, lock, pinned


def jar(artifact: str, content: bytes) -> Jar:
    return Jar(hashlib.sha256(content).hexdigest(), "org.example", artifact, "1.0")


def publish(repository: Path, jar: Jar, content: bytes) -> None:
    """Puts a jar where Maven's layout has it."""
    where = repository / jar.group.replace(".", "/") / jar.artifact / jar.version
    where.mkdir(parents=True)
    (where / jar.name).write_bytes(content)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.setenv("PENSTOCK_MAVEN_REPOSITORY", folder.as_uri())
    return folder


ONE, TWO = jar("one", b"1" * 1000), jar("two", b"2" * 1000)


@pytest.mark.parametrize("name", SETS)
def test_the_shipped_lists_pin_every_jar_once(name: str) -> None:
    found = pinned(name)
    assert len({jar.name for jar in found}) == len(found) > 3
    assert all(len(jar.sha256) == 64 and int(jar.sha256, 16) for jar in found)


def test_the_lists_hold_what_they_are_for() -> None:
    assert {"kafka_2.13-4.3.1.jar", "kafka-server-4.3.1.jar"} <= {jar.name for jar in pinned("kafka")}
    assert "spark-sql-kafka-0-10_2.13-4.2.0.jar" in {jar.name for jar in pinned("spark-kafka-4.2")}
    assert {"connect-runtime-4.3.1.jar", "connect-json-4.3.1.jar"} <= {jar.name for jar in pinned("connect")}


def test_intact_files_need_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_MAVEN_REPOSITORY", "http://127.0.0.1:1/")
    (tmp_path / ONE.name).write_bytes(b"1" * 1000)
    assert ensure([ONE], tmp_path) == [tmp_path / "one-1.0.jar"]
    assert [file.name for file in tmp_path.iterdir()] == [ONE.name]


def test_a_lock_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    entered = threading.Event()

    def enter() -> None:
        with lock(tmp_path / ".lock"):
            entered.set()

    other = threading.Thread(target=enter)
    with lock(tmp_path / ".lock"):
        other.start()
        assert not entered.wait(0.2)
    assert entered.wait(900)
    other.join()


@pytest.mark.integration
def test_missing_and_damaged_files_are_fetched(tmp_path: Path, repository: Path) -> None:
    publish(repository, ONE, b"1" * 1000)
    publish(repository, TWO, b"2" * 1000)
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / ONE.name).write_bytes(b"1" * 999)
    assert [file.read_bytes() for file in ensure([ONE, TWO], cache)] == [b"1" * 1000, b"2" * 1000]
    assert sorted(file.name for file in cache.iterdir()) == [".lock", ONE.name, TWO.name]


@pytest.mark.integration
def test_another_checksum_is_refused_and_not_kept(tmp_path: Path, repository: Path) -> None:
    publish(repository, ONE, b"something else")
    with pytest.raises(EmbeddedError) as refused:
        ensure([ONE], tmp_path / "cache")
    assert str(refused.value) == (
        f"{repository.as_uri()}/ served one-1.0.jar with another checksum than the pinned sha256 {ONE.sha256}: "
        "it was not kept; tell the owner of that repository, or set PENSTOCK_MAVEN_REPOSITORY to another."
    )
    assert [file.name for file in (tmp_path / "cache").iterdir()] == [".lock"]


@pytest.mark.integration
def test_an_unavailable_jar_is_named(tmp_path: Path, repository: Path) -> None:
    publish(repository, ONE, b"1" * 1000)
    (tmp_path / TWO.name).write_bytes(b"damaged")
    with pytest.raises(EmbeddedError) as refused:
        ensure([TWO], tmp_path)
    assert str(refused.value) == (
        f"two-1.0.jar is damaged in {tmp_path} and could not be fetched from {repository.as_uri()}/: it is not there; "
        "a network is needed once (PENSTOCK_MAVEN_REPOSITORY names another repository)."
    )


@pytest.mark.integration
def test_a_repository_that_does_not_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_MAVEN_REPOSITORY", "http://127.0.0.1:1/maven")
    with pytest.raises(
        EmbeddedError, match=r"could not be fetched from http://127\.0\.0\.1:1/maven/: Connection refused"
    ):
        ensure([ONE], tmp_path)


@pytest.mark.integration
def test_a_full_disk_is_named(full_disk: Path, repository: Path) -> None:
    big = jar("big", b"b" * 100_000)
    publish(repository, big, b"b" * 100_000)
    with pytest.raises(EmbeddedError, match=f"No space is left on the disk of {full_disk}"):
        ensure([big], full_disk)
    assert [file.name for file in full_disk.iterdir()] == [".lock"]


@pytest.mark.integration
def test_two_processes_may_start_at_once(tmp_path: Path, repository: Path) -> None:
    publish(repository, ONE, b"1" * 1000)
    program = (
        "import sys; from pathlib import Path; from penstock.embedded.jars import Jar, ensure;"
        "print(*ensure([Jar(*sys.argv[2:])], Path(sys.argv[1])))"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "cache"), ONE.sha256, ONE.group, ONE.artifact, ONE.version]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": dict(os.environ), "text": True}
    said = [process.communicate(timeout=900) for process in [subprocess.Popen(command, **pipes) for _ in range(3)]]
    assert [out.strip() for out, _ in said] == [str(tmp_path / "cache" / ONE.name)] * 3
    # Only the one that came first had anything to fetch.
    assert sum("Fetching" in err for _, err in said) == 1
