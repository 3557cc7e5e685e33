"""``penstock run``: a plugin in the hands of its author."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.embedded import EmbeddedError
from penstock.scaffold.package import NewPlugin
from penstock.trial.log import WorkerLog
from penstock.trial.plugin import FileChanges, config_file, plugin_path
from penstock.trial.topics import text
from penstock.trial.worker import LocalWorker
from support.waiting import until

SECONDS = 900


class Running:
    """``penstock run`` with what it has printed so far."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        scratch = folder / "tmp"
        scratch.mkdir()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "penstock.cli", "run", *arguments],
            cwd=folder,
            env={**os.environ, "TMPDIR": str(scratch)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.records: list[str] = []
        self.said: list[str] = []
        self._readers: list[threading.Thread] = []
        for stream, lines in ((self.process.stdout, self.records), (self.process.stderr, self.said)):
            read = threading.Thread(target=lambda s=stream, to=lines: to.extend(iter(s.readline, "")), daemon=True)
            read.start()
            self._readers.append(read)

    def says(self, words: str) -> None:
        until(lambda: self._has(self.said, words), words, SECONDS)

    def shows(self, words: str) -> None:
        until(lambda: self._has(self.records, words), words, SECONDS)

    def _has(self, lines: list[str], words: str) -> bool:
        over = not any(reader.is_alive() for reader in self._readers)
        found = any(words in line for line in list(lines))
        assert found or not over, f"it has ended without {words!r}: {self.said}"
        return found


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator[Running]:
    one = Running(folder, *arguments)
    try:
        yield one
    finally:
        one.process.send_signal(signal.SIGINT)
        try:
            status = one.process.wait(SECONDS)
        finally:
            one.process.kill()
            one.process.wait()
    assert status == 0, one.said
    assert list((folder / "tmp").glob("penstock-*")) == []


def none_missing(records: list[str]) -> bool:
    numbers = {abs(int(line.split("\t")[2])) for line in records}
    return numbers == set(range(len(numbers)))


@pytest.mark.slow
@pytest.mark.integration
def test_changes_take_effect_at_the_current_offsets(tmp_path: Path) -> None:
    NewPlugin.of("source", "my-numbers").write(tmp_path)
    module, config = tmp_path / "my-numbers/src/my_numbers/__init__.py", tmp_path / "numbers.json"
    settings = {"connector.class": "my_numbers.MyNumbers", "topic": "numbers", "interval.ms": "200"}
    config.write_text(json.dumps({**settings, "batch": "none"}))
    with running(tmp_path, "my-numbers", "numbers.json") as one:
        one.says("Invalid value none for configuration batch")
        config.write_text(json.dumps({**settings, "batch": "1"}))
        one.shows("numbers-0@4\tnull\t4")
        good = module.read_text()
        module.write_text(good + "\ndef\n")
        one.says("can't be loaded: SyntaxError")
        one.says("it is tried again when they change")
        # The answer to the configuration takes long then; the reason is seen at once, and a change is not kept waiting.
        module.write_text(good.replace("def task_configs(self", "def task_configs(self, _"))
        one.says("task_configs() missing 1 required positional argument")
        assert not any("timed out" in line for line in list(one.said))
        module.write_text(good.replace("value=number,", "value=-number,"))
        one.shows("\t-")
        config.write_text(json.dumps({**settings, "topic": "others"}))
        one.shows("others-0@")
        # The last records of the one topic may be shown after the first of the other.
        until(lambda: none_missing(list(one.records)), "all numbers", SECONDS)
    assert len([line for line in one.records if line.endswith("\t0\n")]) == 1


@pytest.mark.slow
@pytest.mark.integration
def test_lines_go_to_a_sink_and_it_ends_with_them(tmp_path: Path) -> None:
    NewPlugin.of("sink", "my-sink").write(tmp_path)
    config = {
        "connector.class": "FileStreamSink",
        "topics": "typed",
        "file": str(tmp_path / "out.txt"),
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    }
    (tmp_path / "sink.json").write_text(json.dumps(config))
    with running(tmp_path, "my-sink", "sink.json") as one:
        one.says("Each line that is typed becomes a record of topic typed.")
        assert one.said[0] == "Starting a Kafka broker, then a worker.\n"
        assert one.process.stdin is not None
        one.process.stdin.write("one\nzwei ☃\n")
        one.process.stdin.flush()
        out = tmp_path / "out.txt"
        until(lambda: out.exists() and out.read_text() == "one\nzwei ☃\n", "the lines in the file", SECONDS)
        one.process.stdin.write("3\n")
        one.process.stdin.close()
        assert one.process.wait(SECONDS) == 0
        assert out.read_text() == "one\nzwei ☃\n3\n"


def test_a_plugin_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedError, match=r"There is no .*nothing: name the folder of a plugin"):
        plugin_path(tmp_path / "nothing")
    (tmp_path / "one.py").touch()
    assert plugin_path(tmp_path / "one.py") == tmp_path / "one.py"


def test_the_configuration_may_lie_in_the_plugins_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = NewPlugin.of("sink", "my-sink").write(tmp_path)
    monkeypatch.chdir(tmp_path)
    for given in (None, Path("config.json")):
        assert config_file(plugin, given) == plugin / "config.json"
    (tmp_path / "config.json").write_text("{}")
    assert config_file(plugin, Path("config.json")) == Path("config.json")
    assert config_file(plugin, None) == plugin / "config.json"
    with pytest.raises(EmbeddedError, match=r"There is no other.json: name the file of a connector's configuration"):
        config_file(plugin, Path("other.json"))


def test_changes_are_those_of_sources(tmp_path: Path) -> None:
    package = tmp_path / "package"
    (package / "__pycache__").mkdir(parents=True)
    module, config = package / "__init__.py", tmp_path / "c.json"
    config.write_text("{}")
    changes = FileChanges(package, config)
    assert changes.since_last() == []
    module.touch()
    (package / "__pycache__/x.pyc").touch()
    (package / ".x.swp").touch()
    assert changes.since_last() == [module]
    module.write_text("x = 1")
    config.write_text('{"a": "b"}')
    assert sorted(changes.since_last()) == [config, module]
    module.unlink()
    assert changes.since_last() == [module]
    assert changes.since_last() == []


def test_files_written_by_the_connector_are_no_changes(tmp_path: Path) -> None:
    (tmp_path / "parts/queries").mkdir(parents=True)
    (tmp_path / "parts/__init__.py").touch()
    changes = FileChanges(tmp_path, tmp_path / "c.json")
    (tmp_path / "out.txt").write_text("a line\n")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/out.jsonl").write_text("{}\n")
    assert changes.since_last() == []
    made = [tmp_path / name for name in ("loose.py", "other.JAR", "pyproject.toml", "parts/queries/of_a_part.sql")]
    for each in made:
        each.touch()
    assert sorted(changes.since_last()) == sorted(made)


def test_warnings_and_the_plugin_s_own_log_lines_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "worker.log"
    log = WorkerLog(path)
    assert list(log.news()) == []
    lines = [
        {"level": "INFO", "message": "ours", "logger": "penstock.worker.loop"},
        {"level": "INFO", "message": "theirs", "logger": "my_numbers"},
        {"level": "ERROR", "message": "bad", "logger": "penstock.plugins", "exception": "Traceback: it"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + "JVM\n" + '{"level": "WARN"')
    assert list(log.news()) == ["INFO theirs (my_numbers)", "ERROR bad (penstock.plugins)\nTraceback: it"]
    with path.open("a") as more:
        more.write(', "message": "late", "logger": "x"}\n')
    assert list(log.news()) == ["WARN late (x)"]
    with path.open("a") as more:  # Unicode's line ends are in a line of JSON as they are
        more.write('{"level": "INFO", "message": "a\u2028b\x85c", "logger": "my_numbers"}\n')
    assert list(log.news()) == ["INFO a\u2028b\x85c (my_numbers)"]


@pytest.mark.parametrize("of_a_task", [True, False])
def test_the_trace_of_what_is_tried_again_is_shown_once(tmp_path: Path, of_a_task: bool) -> None:
    def line(error: str, place: int = 7) -> str:
        trace = f'Traceback:\n  File "my_numbers/__init__.py", line {place}, in put\n    raise Error\nError: {error}'
        said = {
            "level": "WARN",
            "message": "RetriableException from SinkTask",
            "logger": "penstock.pipeline.sink.loop",
        }
        more = {"message": f"{said['message']}\n{trace}"} if of_a_task else {"exception": trace}
        return json.dumps({**said, **more}) + "\n"

    path = tmp_path / "worker.log"
    path.write_text(line("1") + line("2") + line("2") + line("3", 8) + line("4", 8))
    log = WorkerLog(path)
    warning = "WARN RetriableException from SinkTask (penstock.pipeline.sink.loop)"
    first, second, third, other, last = log.news()
    assert first.startswith(f"{warning}\nTraceback:\n  File")
    assert (second, third) == (f"{warning}: Error: 2", f"{warning}: Error: 2")
    assert other.startswith(f"{warning}\nTraceback:\n  File")
    assert last == f"{warning}: Error: 4"


def test_the_last_log_lines_of_an_ended_worker_are_shown(tmp_path: Path) -> None:
    """The log itself is gone by then."""
    (tmp_path / "worker.properties").write_text("listeners=nowhere\n")
    worker = LocalWorker(tmp_path, ["standalone", str(tmp_path / "worker.properties"), "connector.properties"])
    worker.start()
    until(lambda: worker.ended() is not None, "its end", SECONDS)
    said = worker.ended() or ""
    worker.stop()
    assert said.startswith("The worker ended with status 2. The end of its log:\npenstock: ")
    assert said.rstrip().endswith(worker.log.read_text().rstrip().splitlines()[-1])


def test_binary_values_are_shown_in_hexadecimal() -> None:
    assert [text(None), text(b"\xc3\xa4"), text(b"\xff\x00")] == ["null", "ä", "0xff00"]
