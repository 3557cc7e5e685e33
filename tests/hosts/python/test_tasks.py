"""Tasks in environments, as the loops call them."""

from __future__ import annotations

import gc
import logging
import os
import signal
import tarfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from penstock.api.batch import Batch
from penstock.api.columns import Late
from penstock.api.errors import ConnectError, RetriableError
from penstock.api.record import SinkRecord
from penstock.api.schema import STRING
from penstock.api.sink import OffsetAndMetadata, TopicPartition
from penstock.api.source import SourceTask
from penstock.cli import app
from penstock.core.model.skips import Skip
from penstock.hosts.errors import HostLost
from penstock.hosts.python.limits import NO_LIMITS, PluginLimits
from penstock.hosts.python.process import close_all
from penstock.hosts.python.tasks import EnvironmentSourceTask, in_place, place_of
from penstock.pipeline.sink.commits import agreed_offsets
from penstock.pipeline.task import TaskControl, TaskSpec
from penstock.pipeline.trace import headline, trace
from penstock.plugins import Plugins
from penstock.preview.messages import PreviewRequest, plain
from penstock.preview.process import Previews
from penstock.spark.messages.task import LogLevelCommand
from penstock.spark.run.task_link import Steering
from penstock.spark.task import class_of
from support.kafka.client import Kafka
from support.tasks.runs import TaskRun
from support.waiting import until

SOURCE = {"connector.class": "one_source.Source", "name": "n"}
SINK = {"connector.class": "two_sink.Sink", "name": "n"}


class Offsets:
    def offset(self, partition: Mapping[str, Any] | None) -> dict[str, Any] | None:
        return self.offsets([partition])[0]

    def offsets(self, partitions: Sequence[Mapping[str, Any] | None]) -> list[dict[str, Any] | None]:
        return [{"at": 1} if each == {"part": "a"} else {"at": 2} if each is None else None for each in partitions]


def task(plugins: Plugins, config: Mapping[str, str], limits: PluginLimits = NO_LIMITS) -> Any:
    cls = plugins.connector(config)().task_class()
    place = place_of(cls)
    assert place is not None
    return in_place(cls, place, "task n-0", limits)()


def source(plugins: Plugins, limits: PluginLimits = NO_LIMITS, **config: str) -> Any:
    made = task(plugins, SOURCE, limits)
    made.context = SimpleNamespace(offset_reader=Offsets(), transaction=None, configs={})
    made.start({"topic": "t", **config})
    return made


def test_a_source(plugins: Plugins) -> None:
    made = source(plugins)
    first = made.poll()
    assert first.values == ["v1:1", "v1:2"], "it goes on after the committed offset"
    assert (first.topics, first.origin.offsets) == (["t", "t"], [{"at": 2}, {"at": 3}])
    assert first.value_schemas == [STRING, STRING]
    assert made.poll().values == ["v1:3"]
    assert made.poll() is None
    assert made.idle() == 0.25
    assert type(made).commit is SourceTask.commit, "the plugin does not override it"
    assert type(made).commit_records is not SourceTask.commit_records
    made.commit_records(first, ["t", "t"], [0, 0], [0, 1])
    (progress,) = made.progress()
    assert (progress.position, progress.end, made.seconds_behind()) == (2, 4, 1.5)
    made.stop()


def test_a_source_that_waits_for_its_acknowledgements_gets_them(plugins: Plugins) -> None:
    made = source(plugins, trouble="acknowledged")
    first = made.poll()
    threading.Timer(0.3, lambda: made.commit_records(first, ["t", "t"], [0, 0], [0, 1])).start()
    (acknowledged,) = made.poll().values
    assert acknowledged > 0
    made.stop()


def test_the_source_partition_may_be_null(plugins: Plugins) -> None:
    made = source(plugins, null="yes")
    assert made.poll().values == ["v1:2", "v1:3"]
    made.stop()


def test_the_level_of_a_logger_holds_in_the_environment(plugins: Plugins) -> None:
    made = source(plugins, trouble="level")
    steering = Steering(TaskControl())
    try:
        for level in (10, 20, 40):
            steering.obey(LogLevelCommand("of.plugin", level))
        until(lambda: made.poll().values == [40], "the last one")
        assert made.poll().values == [40], "and it stays"
    finally:
        logging.getLogger("of.plugin").setLevel(logging.NOTSET)


def test_the_lines_before_a_plugin_ends_its_process_arrive(
    plugins: Plugins, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    made = source(plugins, trouble="verbose")
    with pytest.raises(HostLost, match="exited with code 5"):
        made.poll()
    close_all()
    said = [record.getMessage() for record in caplog.records if record.name == "one_source"]
    assert said == [f"line {n}" for n in range(1000)]
    assert "printed" in capfd.readouterr().out


def test_a_source_that_ends_transactions(plugins: Plugins) -> None:
    asked: list[Any] = []
    made = task(plugins, SOURCE)
    transaction = SimpleNamespace(
        end_after=lambda batch, ends: asked.append((len(batch), ends)),
        commit_transaction=lambda: asked.append("commit"),
        abort_transaction=lambda: asked.append("abort"),
    )
    made.context = SimpleNamespace(offset_reader=Offsets(), transaction=transaction)
    made.start({"topic": "t", "trouble": "transaction"})
    assert len(made.poll()) == 2
    assert asked == [(2, [(0, False)]), "abort"]


@pytest.mark.parametrize(
    ("trouble", "kind", "says"),
    [
        ("own", Exception, "one_source.OwnError: of the plugin"),
        ("retry", RetriableError, "org.apache.kafka.connect.errors.RetriableException: later"),
    ],
)
def test_errors(plugins: Plugins, trouble: str, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind) as raised:
        source(plugins, trouble=trouble).poll()
    assert headline(raised.value) == says


def test_a_value_that_only_the_environment_knows_is_refused(plugins: Plugins) -> None:
    with pytest.raises(ConnectError, match=r"one_source\.OwnError is known in the plugin's environment only"):
        source(plugins, trouble="value").poll()


def test_memory_beyond_the_limit_fails_this_task_alone(plugins: Plugins) -> None:
    other = source(plugins)
    limited = source(plugins, PluginLimits(memory=256 << 20), trouble="memory")
    with pytest.raises(ConnectError, match=r"more memory than penstock\.plugin\.max\.memory\.bytes=268435456 allows"):
        limited.poll()
    assert len(other.poll()) == 2


def test_processor_time_beyond_the_limit_fails_this_task_alone(plugins: Plugins) -> None:
    other = source(plugins)
    with pytest.raises(ConnectError, match=r"penstock\.plugin\.max\.cpu\.ms allows 1 s"):
        source(plugins, PluginLimits(cpu=1), trouble="cpu").poll()
    assert len(other.poll()) == 2


def test_a_process_that_crashes_is_lost(plugins: Plugins) -> None:
    with pytest.raises(HostLost, match="task n-0 has ended: it was killed by SIGABRT") as raised:
        source(plugins, trouble="crash").poll()
    assert raised.value.by_itself
    gc.collect()


def test_a_process_that_crashes_in_stop_does_not_replace_the_tasks_own_failure(plugins: Plugins) -> None:
    made = source(plugins, trouble="stop")
    made.stop()
    with pytest.raises(HostLost, match="SIGABRT"):
        made.poll()


def test_a_process_is_lost_though_its_child_lives(plugins: Plugins, tmp_path: Path) -> None:
    """The child still holds the process's end of the socket."""
    with pytest.raises(HostLost, match="it was killed by SIGABRT"):
        source(plugins, trouble="fork", file=str(tmp_path / "child")).poll()
    os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)


def test_the_children_of_multiprocessing_end_with_a_task(plugins: Plugins, tmp_path: Path) -> None:
    source(plugins, trouble="pool", file=str(tmp_path / "child")).poll()
    child = int((tmp_path / "child").read_text())
    assert runs(child)
    close_all()
    until(lambda: not runs(child), "it has been killed")


def runs(pid: int) -> bool:
    """Return whether the process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_the_spec_of_a_task_says_where_its_class_is(plugins: Plugins) -> None:
    cls = plugins.connector(SOURCE)().task_class()
    spec = TaskSpec(
        connector="n",
        task=0,
        run=1,
        kind="source",
        task_class=f"{cls.__module__}:{cls.__qualname__}",
        config={},
        connector_config={**SOURCE, "penstock.plugin.max.cpu.ms": "1500"},
        worker_config={"penstock.plugin.max.cpu.ms": "60000", "penstock.plugin.max.memory.bytes": "100000000"},
        environment=place_of(cls),
    )
    found = class_of(msgspec.json.decode(msgspec.json.encode(spec), type=TaskSpec))
    assert found.place.limits == PluginLimits(memory=100_000_000, cpu=2)
    made = found()
    made.context = SimpleNamespace(offset_reader=Offsets(), transaction=None)
    made.start({"topic": "t"})
    assert made.poll().values == ["v1:1", "v1:2"]


def test_an_environment_may_come_in_an_archive(
    plugins: Plugins, installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark unpacks the archive on the executors of a cluster, where nothing is installed."""
    archive = tmp_path / "plugins.tar.gz"
    done = CliRunner().invoke(app, ["plugins", "pack", str(archive), "--plugin-path", str(installed)])
    assert f"spark.archives={archive}#penstock-plugins" in done.output
    with tarfile.open(archive) as tar:
        if hasattr(tarfile, "fully_trusted_filter"):  # Python 3.11.4 and later
            tar.extraction_filter = tarfile.fully_trusted_filter
        tar.extractall(tmp_path / "penstock-plugins")
    monkeypatch.chdir(tmp_path)
    cls = plugins.connector(SOURCE)().task_class()
    place = place_of(cls)
    assert place is not None
    place["folder"] = f"/elsewhere/{Path(place['folder']).name}"
    made = in_place(cls, place, "task n-0", NO_LIMITS)
    assert made.place.folder.parent == tmp_path / "penstock-plugins"
    made = made()
    made.context = SimpleNamespace(offset_reader=Offsets(), transaction=None, configs={})
    made.start({"topic": "t"})
    assert made.poll().values == ["v1:1", "v1:2"]


def test_without_its_environment_a_task_fails(tmp_path: Path) -> None:
    """The environment may be missing on an executor of a cluster, for instance."""
    place = {"folder": str(tmp_path / "absent"), "target": "one_source:Source", "class": "one_source.Task"}
    with pytest.raises(ConnectError, match=r"environment .*absent is not on this machine"):
        in_place(EnvironmentSourceTask, place, "task n-0", NO_LIMITS)()


def test_a_sink(plugins: Plugins, tmp_path: Path) -> None:
    made = task(plugins, SINK)
    asked: list[Any] = []
    here = TopicPartition("t", 0)
    made.context = SimpleNamespace(
        configs={},
        assignment=frozenset({here}),
        errant_record_reporter=SimpleNamespace(report=lambda record, error: asked.append((record, error))),
        offset=lambda offsets: asked.append(offsets),
        timeout=lambda milliseconds: asked.append(milliseconds),
    )
    made.start({"file": str(tmp_path / "out")})
    made.open([here])
    batch = batch_of("one", "bad", "again", "two")
    made.put_batch(batch.with_(timestamps=Late(lambda: [1, 2, 3, 4])))
    (record, error), offsets, timeout = asked
    assert (record.value, record.original_offset, str(error)) == ("bad", 1, "a bad one")
    assert (offsets, timeout) == ({here: 7}, 250)
    assert made.pre_commit({here: 4}) == {here: 4}
    assert (tmp_path / "out").read_text() == "one v2:t\ntwo v2:t\n"
    made.close([here])
    made.stop()


def test_the_trace_of_a_record_that_is_not_tolerated_has_what_the_sink_reported(
    plugins: Plugins, tmp_path: Path
) -> None:
    def refuse(record: SinkRecord, error: BaseException) -> None:
        raise ConnectError("Tolerance exceeded in error handler") from error

    made = task(plugins, SINK)
    made.context = SimpleNamespace(configs={}, errant_record_reporter=SimpleNamespace(report=refuse))
    made.start({"file": str(tmp_path / "out")})
    with pytest.raises(ConnectError, match="Tolerance exceeded in error handler") as raised:
        made.put_batch(batch_of("bad"))
    said = trace(raised.value)
    assert "Caused by: org.apache.kafka.connect.errors.DataException: a bad one" in said
    assert "at put(" in said
    assert "two_sink.py:" in said


def batch_of(*values: str) -> Batch:
    return Batch.of_sink_records(
        SinkRecord(topic="t", partition=0, value=value, value_schema=STRING, offset=row)
        for row, value in enumerate(values)
    )


def sink(plugins: Plugins, out: Path, trouble: str, limits: PluginLimits = NO_LIMITS) -> Any:
    made = task(plugins, SINK, limits)
    made.context = SimpleNamespace(configs={}, errant_record_reporter=None)
    made.start({"file": str(out), "trouble": trouble})
    return made


@pytest.mark.parametrize(
    ("trouble", "says"),
    [
        ("none", "The task's preCommit has returned null instead of offsets"),
        ("text", "The task's pre_commit has returned 'x' instead of offsets"),
        ("texts", "The task's pre_commit has returned {('t', 0): 'x'} instead of offsets"),
    ],
)
def test_a_sink_that_agrees_to_no_offsets_fails(plugins: Plugins, tmp_path: Path, trouble: str, says: str) -> None:
    """If that counted as a failed commit, the task would rewind for ever."""
    made = sink(plugins, tmp_path / "out", trouble)
    with pytest.raises(ConnectError) as raised:
        agreed_offsets(made.pre_commit({TopicPartition("t", 0): 4}))
    assert str(raised.value) == says


def test_offsets_are_plain_integers(plugins: Plugins, tmp_path: Path) -> None:
    (offset,) = sink(plugins, tmp_path / "out", "own").pre_commit({TopicPartition("t", 0): 4}).values()
    assert (type(offset), offset) == (int, 4)
    (offset,) = sink(plugins, tmp_path / "out", "kept").pre_commit({TopicPartition("t", 0): 4}).values()
    assert isinstance(offset, OffsetAndMetadata)
    assert (offset, offset.metadata, offset.leader_epoch) == (4, "text", 7)


def test_memory_beyond_the_limit_in_flush_fails_the_task(plugins: Plugins, tmp_path: Path) -> None:
    """The loop would otherwise treat it as a failed commit and put the records again."""
    made = sink(plugins, tmp_path / "out", "memory", PluginLimits(memory=256 << 20))
    with pytest.raises(ConnectError, match="more memory than"):
        made.pre_commit({TopicPartition("t", 0): 4})
    with pytest.raises(ConnectError, match="more memory than"):
        made.put_batch(batch_of())


def test_a_batch_beyond_the_limit_fails_the_task(plugins: Plugins, tmp_path: Path) -> None:
    made = task(plugins, SINK, PluginLimits(memory=64 << 20))
    made.context = SimpleNamespace(configs={}, errant_record_reporter=None)
    made.start({"file": str(tmp_path / "out")})
    with pytest.raises(ConnectError, match="more memory than"):
        made.put_batch(batch_of("x" * (100 << 20)))


@pytest.mark.parametrize(("trouble", "asked"), [("", True), ("preview", False)])
def test_a_preview_polls_in_the_environment(installed: Path, trouble: str, asked: bool) -> None:
    """A preview polls if that is requested, or if the connector has task configurations."""
    connector = {**SOURCE, "topic": "t", "count": "2", "trouble": trouble}
    worker = dict.fromkeys(("key.converter", "value.converter"), "org.apache.kafka.connect.storage.StringConverter")
    request = PreviewRequest(connector=connector, worker=worker, plugin_path=[str(installed)], poll=asked)
    found = plain(Previews(300).run(request))
    assert (found["kind"], found["error"]) == ("source", None)
    assert [record["result"]["value"] for record in found["records"]] == ["v1:0", "v1:1"]


@pytest.mark.integration
def test_a_skipped_record_does_not_reach_a_sink_in_an_environment(
    plugins: Plugins, kafka: Kafka, bootstrap: str, tmp_path: Path
) -> None:
    cls = plugins.connector(SINK)().task_class()
    place = place_of(cls)
    assert place is not None
    topic = kafka.create_topic()
    kafka.produce(topic, ["a", "poison", "c"])
    skip, file = Skip(topic, 0, 1, 1, kafka.topic_id(topic)), tmp_path / "out"
    sink = in_place(cls, place, "task n-0", NO_LIMITS)
    with TaskRun(sink, bootstrap, {"topics": topic, "file": str(file)}, skips=(skip,)) as run:
        until(lambda: run.host.skipped == [skip], "the commit")
        assert [line.split()[0] for line in file.read_text().splitlines()] == ["a", "c"]
