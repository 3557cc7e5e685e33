"""The file connectors: configuration, tasks and offsets."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api.connector import ExactlyOnceSupport
from penstock.api.errors import ConnectError
from penstock.connectors.file import FileStreamSinkConnector, FileStreamSourceConnector

CONFIG = {"file": "f", "topic": "t"}


def test_file_connectors_have_javas_names_and_versions() -> None:
    assert FileStreamSourceConnector.java_name == "org.apache.kafka.connect.file.FileStreamSourceConnector"
    assert FileStreamSinkConnector.java_name == "org.apache.kafka.connect.file.FileStreamSinkConnector"
    assert FileStreamSourceConnector().task_class().java_name == "org.apache.kafka.connect.file.FileStreamSourceTask"
    assert FileStreamSinkConnector().task_class().java_name == "org.apache.kafka.connect.file.FileStreamSinkTask"
    assert {FileStreamSourceConnector.version(), FileStreamSinkConnector.version()} == {"4.3.1"}


def test_source_has_one_task_and_sink_has_tasks_max() -> None:
    source, sink = FileStreamSourceConnector(), FileStreamSinkConnector()
    source.start(CONFIG)
    sink.start({"file": "out"})
    assert source.task_configs(3) == [CONFIG]
    assert sink.task_configs(3) == [{"file": "out"}] * 3


def test_only_a_file_can_be_exactly_once() -> None:
    source = FileStreamSourceConnector()
    assert source.exactly_once_support(CONFIG) is ExactlyOnceSupport.SUPPORTED
    assert source.exactly_once_support({"topic": "t"}) is ExactlyOnceSupport.UNSUPPORTED
    assert source.exactly_once_support({"topic": "t", "file": ""}) is ExactlyOnceSupport.UNSUPPORTED


@pytest.mark.parametrize(
    ("partition", "offset"),
    [({"filename": "x"}, {"position": 0}), ({"filename": "x"}, None), (None, None), ({"any": "thing"}, None)],
)
def test_offsets_that_can_be_set(partition: Any, offset: Any) -> None:
    assert FileStreamSourceConnector().alter_offsets(CONFIG, [(partition, offset)])


@pytest.mark.parametrize(
    ("partition", "offset", "message"),
    [
        (None, {"position": 1}, "Partition objects cannot be null"),
        ({"file": "x"}, {"position": 1}, "Partition objects should contain the key 'filename'"),
        ({"filename": "x"}, {"place": 1}, "Offset objects should either be null or contain the key 'position'"),
        (
            {"filename": "x"},
            {"position": "1"},
            "The value for the 'position' key in the offset is expected to be a Long value",
        ),
        (
            {"filename": "x"},
            {"position": 1.5},
            "The value for the 'position' key in the offset is expected to be a Long value",
        ),
        (
            {"filename": "x"},
            {"position": -1},
            "The value for the 'position' key in the offset should be a non-negative value",
        ),
    ],
)
def test_offsets_that_are_refused(partition: Any, offset: Any, message: str) -> None:
    with pytest.raises(ConnectError) as refused:
        FileStreamSourceConnector().alter_offsets(CONFIG, [(partition, offset)])
    assert str(refused.value) == message


def test_the_standard_input_has_no_offsets() -> None:
    with pytest.raises(ConnectError, match=r"This is because stdin is used for input and offsets are not tracked."):
        FileStreamSourceConnector().alter_offsets({"topic": "t"}, [({"filename": "x"}, {"position": 1})])


def test_sink_offsets_may_always_be_altered() -> None:
    assert FileStreamSinkConnector().alter_offsets({}, {("t", 0): 1})
