"""The probes of ``tests/calls/java`` in Python: plugins that append a line per call to a file.

The methods are those which take single records, as Java's do.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.api.config import ConfigDef, ConfigType, ConfigValue
from penstock.api.connector import ConnectorTransactionBoundaries, ExactlyOnceSupport, SinkConnector, SourceConnector
from penstock.api.converter import Converter, SchemaAndValue
from penstock.api.errors import ConnectError, RetriableError
from penstock.api.record import Header, Record, SinkRecord, SourceRecord
from penstock.api.schema import STRING, Schema
from penstock.api.sink import SinkTask, TopicPartition
from penstock.api.source import SourceTask
from penstock.api.transform import Predicate, R, Transformation

RECORDS = 3


def definitions() -> ConfigDef:
    return ConfigDef().define("probe.log", ConfigType.STRING, documentation="The file of calls.")


class CallLog:
    def __init__(self, settings: Mapping[str, str], part: str, caller: object) -> None:
        self.log = Path(settings["probe.log"])
        self.name = f"{part}\t{id(caller):x}"

    def note(self, method: str, size: int) -> None:
        thread = f"{os.getpid()}-{threading.get_ident()}\t{threading.current_thread().name}"
        line = f"{time.time_ns() // 1_000_000}\t{self.name}\t{method}\t{thread}\t{size}\n"
        with self.log.open("ab", buffering=0) as out:
            out.write(line.encode())

    def order(self) -> str:
        """Return the present order: idle, busy, filtering, retrying, failing."""
        try:
            return (self.log.parent / "control").read_text()
        except FileNotFoundError:
            return "idle"


class ProbeSource(SourceConnector):
    @classmethod
    def config_def(cls) -> ConfigDef:
        return definitions().define("topic", ConfigType.STRING, "", documentation="The topic of a source.")

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        CallLog(config, "connector", self).note("validate", len(config))
        return super().validate(config)

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        CallLog(config, "connector", self).note("exactly_once_support", len(config))
        return ExactlyOnceSupport.SUPPORTED

    def can_define_transaction_boundaries(self, config: Mapping[str, str]) -> ConnectorTransactionBoundaries:
        CallLog(config, "connector", self).note("can_define_transaction_boundaries", len(config))
        return ConnectorTransactionBoundaries.SUPPORTED

    def start(self, config: Mapping[str, str]) -> None:
        self.config, self.calls = dict(config), CallLog(config, "connector", self)
        self.calls.note("start", len(config))

    def task_class(self) -> type[SourceTask]:
        return ProbeSourceTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        self.calls.note("task_configs", max_tasks)
        return [self.config]

    def stop(self) -> None:
        self.calls.note("stop", 0)


class ProbeSourceTask(SourceTask):
    def start(self, config: Mapping[str, str]) -> None:
        self.calls, self.topic, self.next = CallLog(config, "task", self), config["topic"], 0
        self.calls.note("start", len(config))

    def poll(self) -> list[SourceRecord] | None:
        time.sleep(0.05)
        order = self.calls.order()
        if order == "retrying":
            self.calls.note("poll that raises", 0)
            raise RetriableError("not now")
        if order == "failing":
            self.calls.note("poll that raises", 0)
            raise ConnectError("broken")
        if order in ("busy", "filtering"):
            return self.some(order)
        self.calls.note("poll without records", 0)
        return None

    def idle(self) -> float:
        """Do not delay the next poll, as in Java."""
        return 0

    def some(self, value: str) -> list[SourceRecord]:
        records = []
        for _ in range(RECORDS):
            self.next += 1
            position = {"source_partition": {"part": "a"}, "source_offset": {"at": self.next}}
            records.append(SourceRecord(**position, topic=self.topic, value_schema=STRING, value=value))
        self.calls.note("poll with records", RECORDS)
        if self.context.transaction is not None and self.next % (2 * RECORDS) == 0:
            self.context.transaction.commit_transaction()
        return records

    def commit_record(self, record: SourceRecord, topic: str, partition: int, offset: int) -> None:
        self.calls.note("commit_record of a dropped record" if offset < 0 else "commit_record", 1)

    def commit(self) -> None:
        self.calls.note("commit", 0)

    def stop(self) -> None:
        self.calls.note("stop", 0)


class ProbeSink(SinkConnector):
    @classmethod
    def config_def(cls) -> ConfigDef:
        return definitions()

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        CallLog(config, "connector", self).note("validate", len(config))
        return super().validate(config)

    def start(self, config: Mapping[str, str]) -> None:
        self.config, self.calls = dict(config), CallLog(config, "connector", self)
        self.calls.note("start", len(config))

    def task_class(self) -> type[SinkTask]:
        return ProbeSinkTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        self.calls.note("task_configs", max_tasks)
        return [self.config]

    def stop(self) -> None:
        self.calls.note("stop", 0)


class ProbeSinkTask(SinkTask):
    def start(self, config: Mapping[str, str]) -> None:
        self.calls = CallLog(config, "task", self)
        self.calls.note("start", len(config))

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        self.calls.note("open", len(partitions))

    def put(self, records: Sequence[SinkRecord]) -> None:
        order = self.calls.order()
        if not records:
            self.calls.note("put without records", 0)
        elif order == "retrying":
            self.calls.note("put that raises", len(records))
            self.context.timeout(100)
            raise RetriableError("not now")
        elif order == "failing":
            self.calls.note("put that raises", len(records))
            raise ConnectError("broken")
        else:
            self.calls.note("put with records", len(records))

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        self.calls.note("pre_commit", len(offsets))
        return super().pre_commit(offsets)

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.calls.note("flush", len(offsets))

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self.calls.note("close", len(partitions))

    def stop(self) -> None:
        self.calls.note("stop", 0)


class ProbeConverter(Converter):
    """Text as UTF-8."""

    calls: CallLog | None = None

    @classmethod
    def config_def(cls) -> ConfigDef:
        return definitions()

    def note(self, method: str, size: int) -> None:
        if self.calls is not None:
            self.calls.note(method, size)

    def configure(self, config: Mapping[str, str], is_key: bool) -> None:
        self.calls = CallLog(config, "converter", self)
        self.note("configure", len(config))

    def from_connect(self, topic: str, headers: Sequence[Header], schema: Schema | None, value: Any) -> bytes:
        self.note("from_connect", 1)
        return str(value).encode()

    def to_connect(self, topic: str, headers: Sequence[tuple[str, bytes | None]], data: bytes | None) -> SchemaAndValue:
        self.note("to_connect", 1)
        return STRING, (data or b"").decode()

    def close(self) -> None:
        self.note("close", 0)


class ProbeTransform(Transformation):
    """Drops records with the value "filtering"."""

    calls: CallLog | None = None

    @classmethod
    def config_def(cls) -> ConfigDef:
        return definitions()

    def configure(self, config: Mapping[str, str]) -> None:
        self.calls = CallLog(config, "transform", self)
        self.calls.note("configure", len(config))

    def apply(self, record: R) -> R | None:
        assert self.calls is not None
        self.calls.note("apply", 1)
        return None if record.value == "filtering" else record

    def close(self) -> None:
        if self.calls is not None:
            self.calls.note("close", 0)


class ProbePredicate(Predicate):
    """True for all records."""

    calls: CallLog | None = None

    @classmethod
    def config_def(cls) -> ConfigDef:
        return definitions()

    def configure(self, config: Mapping[str, str]) -> None:
        self.calls = CallLog(config, "predicate", self)
        self.calls.note("configure", len(config))

    def test(self, record: Record) -> bool:
        assert self.calls is not None
        self.calls.note("test", 1)
        return True

    def close(self) -> None:
        if self.calls is not None:
            self.calls.note("close", 0)
