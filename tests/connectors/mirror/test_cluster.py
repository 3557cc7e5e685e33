"""Answers of clusters that a mirror lives with: groups that are in use, no authorizer."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.api.kafka import KafkaRequestError
from penstock.api.sink import TopicPartition
from penstock.connectors.mirror import MirrorSourceConnector, cluster


def refusal(code: str) -> KafkaRequestError:
    return KafkaRequestError("no", code)


@pytest.mark.parametrize(
    ("code", "level", "sentence"),
    [
        ("UNKNOWN_MEMBER_ID", logging.WARNING, "likely caused by consumers currently using this group in the target"),
        ("GROUP_AUTHORIZATION_FAILED", logging.ERROR, "Unable to sync offsets for consumer group g: no"),
    ],
)
def test_a_group_whose_offsets_are_refused_is_named(
    code: str, level: int, sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(group: str, offsets: object) -> None:
        raise refusal(code)

    target: Any = SimpleNamespace(commit=refuse)
    assert not cluster.commit(target, "g", {TopicPartition("a.t", 0): (1, "")})
    (line,) = caplog.records
    assert line.levelno == level
    assert "consumer group g" in line.getMessage()
    assert sentence in line.getMessage()


def test_a_source_cluster_without_an_authorizer_is_no_warning_and_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse(timeout: float) -> None:
        raise refusal("SECURITY_DISABLED")

    caplog.set_level(logging.INFO)
    connector: Any = MirrorSourceConnector()
    connector._source, connector._timeout, connector._no_authorizer = SimpleNamespace(topic_acls=refuse), 1.0, False
    connector._copy_rights()
    connector._copy_rights()
    (line,) = caplog.records
    assert line.levelno == logging.INFO
    assert line.getMessage().startswith("No ACL authorizer is configured on the source Kafka cluster")
