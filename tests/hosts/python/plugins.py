"""Wheels of two connectors that need two majors of the same package, made here: nothing is fetched."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

WIRE = "MAJOR = {major}\n\n\ndef encode(value):\n    return f'v{major}:{{value}}'\n"

SOURCE = """
import logging
import multiprocessing
import os
import time
from pathlib import Path

import wire_format

from penstock.api.config import ConfigDef, ConfigType
from penstock.api.connector import ConnectorTransactionBoundaries, ExactlyOnceSupport, SourceConnector
from penstock.api.errors import ConfigError, ConnectError, RetriableError
from penstock.api.record import SourceRecord
from penstock.api.schema import STRING
from penstock.api.source import SourceProgress, SourceTask

log = logging.getLogger(__name__)


class PickyError(ConnectError):
    pass


class OwnError(Exception):
    pass


def even(name, value):
    if value is not None and value % 2:
        raise ConfigError(name, value, f"must be even, says wire_format {wire_format.MAJOR}")


class Source(SourceConnector):
    setting_prefixes = ("own.",)

    @classmethod
    def version(cls):
        return "VERSION"

    @classmethod
    def config_def(cls):
        config = ConfigDef().define("topic", ConfigType.STRING, documentation="Where to.")
        config.define("count", ConfigType.INT, 4, even, documentation="How many records.")
        return config.define("trouble", ConfigType.STRING, "")

    def validate(self, config):
        found = super().validate(config)
        if config.get("topic") == "slow":
            time.sleep(600)
        if config.get("topic") == "forbidden":
            next(each for each in found if each.name == "topic").add_error("not this topic")
        return found

    def exactly_once_support(self, config):
        return ExactlyOnceSupport.SUPPORTED

    def tasks_for_preview(self, config):
        return [config] if config.get("trouble") == "preview" else None

    def alter_offsets(self, config, offsets):
        if any(offset is not None and "at" not in offset for _, offset in offsets):
            raise PickyError("an offset has the key 'at'")
        return True

    def start(self, config):
        self.config = dict(config)
        if config.get("trouble") == "start":
            raise PickyError("it will not start")
        self.context.plugin_metrics.add("starts", "How often", lambda: 1.0)
        if config.get("trouble") == "slow metrics":
            for name in ("slow1", "slow2"):
                self.context.plugin_metrics.add(name, "Never told", lambda: time.sleep(600))
        if config.get("trouble") == "late":
            raise PickyError("it has begun, but will not start")
        log.info("started with wire_format %d in process %d", wire_format.MAJOR, os.getpid())
        if config.get("trouble") == "ask":
            self.context.request_task_reconfiguration()

    def task_class(self):
        return Task

    def task_configs(self, most):
        if self.config.get("trouble") == "burn":
            while True:
                pass
        return [{**self.config, "wire": str(wire_format.MAJOR), "process": str(os.getpid())}]

    def stop(self):
        if self.config.get("trouble") == "stuck":
            time.sleep(600)
        log.info("the connector has stopped")


class Task(SourceTask):
    def start(self, config):
        self.config = config
        known = self.context.offset_reader.offset(None if "null" in config else {"part": "a"})
        self.at = known["at"] if known else 0
        self.committed = 0

    def poll(self):
        trouble = self.config.get("trouble")
        if trouble == "level":
            return [SourceRecord(topic="t", value=logging.getLogger("of.plugin").level)]
        if trouble == "value":
            return [SourceRecord(topic="t", value=OwnError("x"))]
        if trouble == "own":
            raise OwnError("of the plugin")
        if trouble == "retry":
            raise RetriableError("later")
        if trouble == "memory":
            self.kept = bytearray(b"x") * (1 << 30)
        if trouble == "cpu":
            while True:
                pass
        if trouble == "fork" and (child := os.fork()):
            Path(self.config["file"]).write_text(str(child))
            os.abort()
        if trouble == "fork":
            time.sleep(600)
        if trouble == "pool":
            child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,))
            child.start()
            Path(self.config["file"]).write_text(str(child.pid))
            return None
        if trouble == "verbose":
            for n in range(1000):
                log.warning("line %d", n)
            print("printed")
            os._exit(5)
        if trouble == "crash":
            os.abort()
        if trouble == "acknowledged" and self.at == 3:
            give_up = time.monotonic() + 60
            while not self.committed and time.monotonic() < give_up:
                time.sleep(0.01)
            return [SourceRecord(topic="t", value=self.committed)]
        count = int(self.config.get("count", 4))
        if self.at >= count:
            return None
        rows = range(self.at, min(self.at + 2, count))
        self.at = rows[-1] + 1
        topic = self.config["topic"]
        records = [
            SourceRecord(
                topic=topic,
                value=wire_format.encode(row),
                value_schema=STRING,
                source_partition={"part": "a"},
                source_offset={"at": row + 1},
            )
            for row in rows
        ]
        if trouble == "transaction":
            self.context.transaction.commit_transaction(records[0])
            self.context.transaction.abort_transaction()
        return records

    def idle(self):
        return 0.25

    def stop(self):
        if self.config.get("trouble") == "stop":
            os.abort()

    def commit_record(self, record, topic, partition, offset):
        self.committed += 1

    def seconds_behind(self):
        return 1.5

    def progress(self):
        return [SourceProgress({"part": "a"}, self.committed, 4)]
"""

SINK = """
from pathlib import Path

import wire_format

from penstock.api.config import ConfigDef, ConfigType
from penstock.api.connector import SinkConnector
from penstock.api.errors import DataError
from penstock.api.sink import OffsetAndMetadata, SinkTask
from penstock.api.transform import Transformation


class OwnInt(int):
    pass


class Sink(SinkConnector):
    @classmethod
    def version(cls):
        return "VERSION"

    @classmethod
    def config_def(cls):
        return ConfigDef().define("file", ConfigType.STRING)

    def start(self, config):
        self.config = dict(config)

    def task_class(self):
        return Task

    def task_configs(self, most):
        return [self.config]


class Task(SinkTask):
    def start(self, config):
        self.file = Path(config["file"]).open("a")
        self.trouble = config.get("trouble")
        self.seen = 0

    def put(self, records):
        for record in records:
            if record.value == "bad":
                self.context.errant_record_reporter.report(record, DataError("a bad one"))
                continue
            if record.value == "again":
                self.context.offset({partition: 7 for partition in self.context.assignment})
                self.context.timeout(250)
                continue
            self.file.write(f"{record.value} {wire_format.encode(record.topic)}\\n")
            self.seen += 1

    def flush(self, offsets):
        if self.trouble == "memory":
            bytearray(1 << 30)
        self.file.flush()

    def pre_commit(self, offsets):
        agreed = super().pre_commit(offsets)
        own = {partition: OwnInt(offset) for partition, offset in offsets.items()}
        kept = {partition: OffsetAndMetadata(offset, "text", 7) for partition, offset in offsets.items()}
        return {"none": None, "kept": kept, "text": "x", "texts": {("t", 0): "x"}, "own": own}.get(self.trouble, agreed)

    def stop(self):
        self.file.close()


class Upper(Transformation):
    def apply(self, record):
        return record
"""


def wheel(
    folder: Path,
    name: str,
    version: str,
    files: Mapping[str, str],
    requires: Sequence[str] = (),
    entry_points: Mapping[str, str] | None = None,
) -> Path:
    """Write a wheel of pure Python."""
    folder.mkdir(parents=True, exist_ok=True)
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {each}\n" for each in requires)
    content = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if entry_points:
        points = "".join(f"{key} = {value}\n" for key, value in entry_points.items())
        content[f"{info}/entry_points.txt"] = f"[penstock.plugins]\n{points}"
    content[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*content, f"{info}/RECORD"])
    made = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for path, text in content.items():
            archive.writestr(path, text)
    return made


def wheelhouse(folder: Path) -> Path:
    """Both majors of the package that both connectors need."""
    for major in (1, 2):
        wheel(folder, "wire-format", f"{major}.0", {"wire_format.py": WIRE.format(major=major)})
    return folder


def source_wheel(folder: Path, version: str = "1.0", major: int = 1) -> Path:
    """Build a wheel beside its wheelhouse, and return it."""
    wheelhouse(folder / "wheels")
    needs = ["penstock>=0.1", f"wire-format=={major}.*"]
    files = {"one_source.py": SOURCE.replace("VERSION", version)}
    return wheel(folder, "one-source", version, files, needs, {"source": "one_source:Source"})


def sink_wheel(folder: Path, version: str = "2.0") -> Path:
    wheelhouse(folder / "wheels")
    files = {"two_sink.py": SINK.replace("VERSION", version)}
    return wheel(folder, "two-sink", version, files, ["wire-format>=2"], {"all": "two_sink"})
