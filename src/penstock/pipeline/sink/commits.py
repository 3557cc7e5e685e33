"""Commits of a sink task: dead letters are waited for, the task is asked, and offsets are written to the group.

``positions`` decides when and what; here that is carried out.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from penstock.api.errors import ConnectError
from penstock.api.sink import TopicPartition
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.sink.actions import CommitOffsets, CommitResult, ReportCommit
from penstock.pipeline.sink.events import CommitAnswered
from penstock.pipeline.sink.partitions import at_offsets, names, of_client

log = logging.getLogger(__name__)

Answer = Callable[[CommitAnswered], None]


class OffsetCommits:
    """The commits of one consumer. The consumer calls ``answered`` within a fetch, in the loop's thread."""

    on_answer: Answer
    """Set by the loop."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._number = 0

    def count(self) -> None:
        """The task is asked once more what may be committed."""
        self._number += 1
        self._metrics.put("offset-commit-seq-no", self._number)

    def write(self, consumer: Consumer, action: CommitOffsets) -> None:
        """Send the offsets; ``on_answer`` gets the brokers' answer, at once if it is waited for."""
        began = time.monotonic()
        try:
            if not action.closing:
                consumer.commit(offsets=at_offsets(action.offsets), asynchronous=True)
                return
            results = consumer.commit(offsets=at_offsets(action.offsets), asynchronous=False)
        except KafkaException as e:
            error, results = e.args[0].str(), []
        else:
            error = None
        self.on_answer(_answer(error, results or [], action.closing, time.monotonic() - began))

    def answered(self, error: KafkaError | None, results: list[ClientPartition]) -> None:
        """Called by the consumer with the brokers' answer to an asynchronous commit."""
        sent = {partition: each.offset for each, partition in zip(results, names(results), strict=True)}
        self.on_answer(replace(_answer(None if error is None else error.str(), results), sent=sent or None))

    def report(self, action: ReportCommit) -> None:
        match action.result:
            case CommitResult.DONE:
                self._metrics.committed(action.seconds)
                self._metrics.add("offset-commit-completion-total")
            case CommitResult.FAILED:
                log.error("Commit of offsets threw an unexpected exception: %s", action.error)
                self._metrics.committed(action.seconds, success=False)
            case CommitResult.TIMED_OUT:
                log.warning("Commit of offsets timed out")
                self._metrics.committed(action.seconds, success=False)
            case CommitResult.LATE:
                self._metrics.add("offset-commit-skip-total")


def _answer(
    error: str | None, results: list[ClientPartition], closing: bool = False, seconds: float = 0.0
) -> CommitAnswered:
    """Return the event: the offsets that were written, up to the first partition with an error."""
    written = {}
    if error is None:
        for result, partition in zip(results, names(results), strict=True):
            if result.error is not None:
                error = result.error.str()
                break
            written[partition] = of_client(result)
    return CommitAnswered(written, error, closing, seconds)


def agreed_offsets(answer: Any) -> dict[TopicPartition, int]:
    """Return the offsets that ``pre_commit`` has returned. Raises ConnectError if it has returned something else."""
    if answer is None:
        raise ConnectError("The task's preCommit has returned null instead of offsets")
    if not isinstance(answer, Mapping):
        raise ConnectError(f"The task's pre_commit has returned {answer} instead of offsets")
    if None in answer.values():
        missing = sorted(str(TopicPartition(*p)) for p, offset in answer.items() if offset is None)
        raise ConnectError(f"The task's preCommit has returned null as the offset of {', '.join(missing)}")
    return {TopicPartition(*partition): offset for partition, offset in answer.items()}
