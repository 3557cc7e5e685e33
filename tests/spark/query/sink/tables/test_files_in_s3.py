"""Files of a sink's runs in S3, by Hadoop's own file system: lists are put if there are none, files are copied."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark import SparkConf
from pyspark.java_gateway import launch_gateway

from penstock.api.query import BatchVersion
from penstock.connectors.spark.sink_settings import SinkSettings
from penstock.pipeline.task import TaskFencedError
from penstock.spark.java import spark_java
from penstock.spark.query.folder import HadoopFolder
from penstock.spark.query.object_stores import lacks_conditional_put
from penstock.spark.query.sink.tables.files import Files
from support.jars import listed, require
from support.s3 import JARS, S3, Answer, Request, serving
from support.tasks.runs import new_name

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture(scope="module")
def java() -> Iterator[Any]:
    """A JVM with the classes of Spark and of Hadoop's connector to S3."""
    require(JARS)
    conf = SparkConf(loadDefaults=False).set("spark.driver.extraClassPath", os.pathsep.join(map(str, listed(JARS))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "JAVA_HOME", str(spark_java().home))
        gateway: Any = launch_gateway(conf)
    yield gateway.jvm
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(900)


@pytest.fixture(scope="module")
def server() -> Iterator[S3]:
    with serving() as one:
        yield one


@pytest.fixture
def s3(server: S3) -> Iterator[S3]:
    yield server
    server.answer = lambda _: None


@pytest.fixture
def place() -> str:
    return new_name("table")


def configuration(java: Any, s3: S3, **more: str) -> Any:
    found = java.org.apache.hadoop.conf.Configuration()
    quick = {"fs.s3a.retry.interval": "10ms", "fs.s3a.retry.throttle.interval": "10ms", "fs.s3a.attempts.maximum": "3"}
    for name, value in {**s3.settings(), **quick, **more}.items():
        found.set(name, value)
    return found


@pytest.fixture
def folder(java: Any, s3: S3, place: str) -> HadoopFolder:
    return HadoopFolder(java, configuration(java, s3), f"s3a://{s3.bucket}/{place}")


class Rows:
    """A data frame of one row, which Spark would write to a folder of S3."""

    def __init__(self, s3: S3, name: str) -> None:
        self.s3, self.name = s3, name

    @property
    def write(self) -> Rows:
        return self

    def format(self, _: str) -> Rows:
        return self

    def options(self, **given: str) -> Rows:
        self.given = given
        return self

    def save(self, path: str) -> None:
        with self.s3.files.open_output_stream(f"{path.partition('://')[2]}/part-{self.name}.txt") as stream:
            stream.write(self.name.encode())


def add(files: Files, s3: S3, name: str, number: int = 1) -> None:
    frame: Any = Rows(s3, name)
    files.add(frame, BatchVersion("e", number), lambda: None)


def visible(s3: S3, place: str) -> list[str]:
    return [name for name in s3.keys(place) if not name.startswith(".")]


def when(s3: S3, fits: Callable[[Request], bool], do: Callable[[], Answer | None]) -> None:
    """Call a function once, when the first request that fits has come and before the server gets it."""
    lock, done = threading.Lock(), [False]

    def answer(request: Request) -> Answer | None:
        with lock:
            if done[0] or not fits(request):
                return None
            done[0] = True
        return do()

    s3.answer = answer


def is_list(request: Request) -> bool:
    return request.is_upload and request.path.endswith(".list")


def test_a_list_is_put_only_if_there_is_none(folder: HadoopFolder, s3: S3) -> None:
    s3.requests.clear()
    assert folder.publish("a/b.list", "one")
    assert not folder.publish("a/b.list", "two")
    assert folder.read("a/b.list") == "one"
    assert [request.headers.get("if-none-match") for request in s3.requests if is_list(request)] == ["*", "*"]


def test_of_two_runs_that_publish_at_once_one_succeeds(java: Any, folder: HadoopFolder, s3: S3, place: str) -> None:
    """The first has looked for a list and found none, when the second publishes."""
    other = HadoopFolder(java, configuration(java, s3), f"s3a://{s3.bucket}/{place}")
    won = []
    when(s3, is_list, lambda: won.append(other.publish("a.list", "second")))
    assert not folder.publish("a.list", "first")
    assert won == [True]
    assert folder.read("a.list") == "second"


def test_a_list_whose_answer_was_lost_is_published(folder: HadoopFolder, s3: S3) -> None:
    when(s3, is_list, lambda: Answer(passed=True))
    assert folder.publish("a.list", "one")
    assert folder.read("a.list") == "one"


def test_a_frozen_run_publishes_nothing(java: Any, folder: HadoopFolder, s3: S3, place: str) -> None:
    """It wakes with the PUT of its list on the way, when its successor has written this batch and the next one."""
    settings = SinkSettings.of({"path": f"s3a://{s3.bucket}/{place}"})
    frozen = Files(settings, "connector", folder)
    again = HadoopFolder(java, configuration(java, s3), f"s3a://{s3.bucket}/{place}")
    successor = Files(settings, "connector", again)

    def succeed() -> None:
        add(successor, s3, "successor-1", 1)
        add(successor, s3, "successor-2", 2)

    when(s3, is_list, succeed)
    with pytest.raises(TaskFencedError, match="has written batch e-2"):
        add(frozen, s3, "frozen-1", 1)
    assert visible(s3, place) == ["part-successor-1.txt", "part-successor-2.txt"]
    assert successor.last() == BatchVersion("e", 2)
    add(successor, s3, "successor-3", 3)
    assert visible(s3, place) == [f"part-successor-{number}.txt" for number in (1, 2, 3)]


def test_a_run_that_was_killed_between_copy_and_deletion_is_continued(
    java: Any, folder: HadoopFolder, s3: S3, place: str
) -> None:
    settings = SinkSettings.of({"path": f"s3a://{s3.bucket}/{place}"})
    kept = []

    def keep() -> None:
        kept.extend(name for name in s3.keys(place) if name.endswith(".txt"))

    when(s3, lambda request: request.is_copy, keep)
    add(Files(settings, "connector", folder), s3, "one")
    (source,) = kept
    # As it was between the copy of the file and its deletion, in the batch's own folder.
    s3.files.copy_file(f"{s3.bucket}/{place}/part-one.txt", f"{s3.bucket}/{place}/{source}")
    add(Files(settings, "connector", folder), s3, "one again")
    assert s3.keys(place) == [".penstock/connector/e-1.list", "part-one.txt"]


def test_a_connector_that_cannot_put_an_object_only_once_is_refused(java: Any, s3: S3, place: str) -> None:
    path = f"s3a://{s3.bucket}/{place}"
    assert lacks_conditional_put(java, configuration(java, s3), path) is None
    off = {"fs.s3a.create.conditional.enabled": "false", "fs.s3a.impl.disable.cache": "true"}
    assert "use Spark 4.1 or newer" in str(lacks_conditional_put(java, configuration(java, s3, **off), path))
