"""Requests that change connectors.

Each a flow that ends in records of the config topic (Java: AbstractHerder, DistributedHerder).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.core import reconfiguration
from penstock.core.exactly_once import fence
from penstock.core.group.leadership import append, as_leader, one_by_one
from penstock.core.model import actions
from penstock.core.model import messages as m
from penstock.core.model.flow import Flow, Until
from penstock.core.model.records import (
    ConfigTopicRecord,
    ConnectorConfig,
    LoggerLevel,
    TargetState,
    TargetStateName,
    TasksCommit,
)
from penstock.core.model.state import STOPPED
from penstock.core.requests import checks, reads
from penstock.core.requests.standalone import until_made
from penstock.core.session_keys import check_signature
from penstock.core.status import cleanup
from penstock.core.topic_tracking import check_allowed

if TYPE_CHECKING:
    from penstock.core.herder import Herder


def create(herder: Herder, request: m.CreateConnector) -> Flow:
    """201 with the connector; 409 if there is one of this name."""
    return (
        yield from _put(herder, request.name, request.config, request.initial_state, request.initial_offsets, False)
    )


def put_config(herder: Herder, request: m.PutConfig) -> Flow:
    """200, or 201 for a new connector."""
    return (yield from _put(herder, request.name, request.config, None, None, True))


def patch_config(herder: Herder, request: m.PatchConfig) -> Flow:
    yield from as_leader(herder)
    config: dict[str, str | None] = {**checks.known(herder, request.name), **request.patch}
    kept = {key: value for key, value in config.items() if value is not None}
    return (yield from _put(herder, request.name, kept, None, None, True))


def _put(
    herder: Herder,
    name: str,
    config: Mapping[str, str | None],
    state: TargetStateName | None,
    offsets: tuple[tuple[dict[str, object] | None, dict[str, object] | None], ...] | None,
    replace: bool,
) -> Flow:
    problems = yield actions.Validate(config)
    if problems is not None:
        raise m.Refused(400, problems)
    checked = {key: value for key, value in config.items() if value is not None}

    def write() -> Flow:
        exists = name in herder.state.connectors
        if exists and not replace:
            raise m.Refused(409, f"Connector {name} already exists")
        if offsets is not None:
            yield actions.WriteOffsets(name, checked, offsets)
        records: list[ConfigTopicRecord] = [] if state is None else [TargetState(name, state)]
        shown = reads.info(herder, name, checked)  # with the tasks of before
        yield from append(herder, *records, ConnectorConfig(name, checked))
        return m.Reply(200 if exists else 201, shown)

    reply = yield from one_by_one(herder, write)
    if not herder.settings.distributed:
        yield from until_made(herder, name)
        return m.Reply(reply.status, reads.info(herder, name, checked))
    return reply


def delete(herder: Herder, request: m.DeleteConnector) -> Flow:
    """Tombstones for the connector and its target state, then for its status and topics."""

    def write() -> Flow:
        checks.known(herder, request.name)
        yield from append(herder, ConnectorConfig(request.name, None), TargetState(request.name, None))
        cleanup.clear_of(herder, request.name)
        return m.Reply(204)

    return (yield from one_by_one(herder, write))


def set_target_state(herder: Herder, request: m.SetTargetState) -> Flow:
    """Pause and resume: any worker may write these."""
    checks.known(herder, request.name, "Unknown connector {}")
    yield actions.AppendConfig((TargetState(request.name, request.state),), as_leader=False)
    return m.Reply(202)


def stop(herder: Herder, request: m.StopConnector) -> Flow:
    """Its tasks are taken back, and it is stopped."""
    checks.known(herder, request.name, "Unknown connector {}")

    def write() -> Flow:
        checks.known(herder, request.name, "Unknown connector {}")
        yield from append(herder, TasksCommit(request.name, 0), TargetState(request.name, STOPPED))
        return m.Reply(204)

    return (yield from one_by_one(herder, write))


def reset_topics(herder: Herder, request: m.ResetTopics) -> Flow:
    """200, as KIP-558 says (Java's standalone worker answers 202).

    Any worker writes the tombstones, also for a connector that is gone.
    """
    check_allowed(herder.settings.topic_tracking, herder.settings.allow_topics_reset, reset=True)
    topics = herder.statuses.topics
    before = topics.records(request.name)
    if gone := topics.tombstones(request.name):
        herder.emit(actions.AppendStatus(tuple(gone)))
        try:  # so that a client does not find what it has just reset
            yield Until(lambda: not any(topics.is_active(r) for r in before), herder.settings.patience_ms, "")
        except TimeoutError:
            herder.log("WARNING", f"The active topics of {request.name} have not been reset yet; it was asked for")
    return m.Reply(200)


def set_cluster_logger(herder: Herder, request: m.SetClusterLogger) -> Flow:
    """KIP-976; any worker may write it."""
    yield actions.AppendConfig((LoggerLevel(request.name, request.level),), as_leader=False)
    return m.Reply(204)


def put_task_configs(herder: Herder, request: m.PutTaskConfigs) -> Flow:
    """From a worker whose connector has made new task configurations."""
    _from_a_worker(herder, request.signature, "externally setting task configurations")

    def write() -> Flow:
        checks.known(herder, request.name)
        yield from reconfiguration.write(herder, request.name, list(request.configs))
        return m.Reply(204)

    return (yield from one_by_one(herder, write))


def fence_tasks(herder: Herder, request: m.FenceTasks) -> Flow:
    """From a worker that is about to start tasks of a new generation (KIP-618)."""
    _from_a_worker(herder, request.signature, "exactly-once source connectors")
    yield from as_leader(herder)
    config = checks.known(herder, request.name)
    if herder.plugins.kind(config) != "source":
        raise m.Refused(400, f"Connector {request.name} is not a source connector")
    yield from fence(herder, request.name)
    return m.Reply(204)


def _from_a_worker(herder: Herder, signature: m.Signature, what: str) -> None:
    """Raises Refused if this worker has no others, or the request is not signed as it must be (KIP-507)."""
    if not herder.settings.distributed:
        raise m.Refused(500, f"Kafka Connect in standalone mode does not support {what}.")
    if herder.place.sessioned:
        check_signature(signature, herder.state.session_key, herder.settings.verification_algorithms)
