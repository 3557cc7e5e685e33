"""Answers to requests: from state at once, or by a flow, with a reply for every error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from penstock.api.errors import ConfigError
from penstock.core.group.leadership import ElsewhereError
from penstock.core.group.membership import Membership
from penstock.core.model import actions
from penstock.core.model import messages as m
from penstock.core.model.flow import Flow, Output, Until
from penstock.core.offsets import OffsetRequests
from penstock.core.requests.changes import Changes, set_cluster_logger
from penstock.core.requests.inter_worker import Confirmation, InterWorkerRequests
from penstock.core.requests.reads import Reads
from penstock.core.restart import RestartRequests
from penstock.core.skips import Skips
from penstock.core.topic_tracking import TopicTracking

MAX_NAME_LENGTH = 500
"""Characters of a name that are logged."""


@dataclass(frozen=True, slots=True)
class RequestFlows:
    """Flows that answer requests, by subject."""

    changes: Changes
    restarts: RestartRequests
    offsets: OffsetRequests
    inter_worker: InterWorkerRequests
    topics: TopicTracking
    confirmation: Confirmation
    skips: Skips

    def of(self, request: m.FlowRequest) -> Flow:
        """Return the flow that answers the request; its result is the ``Reply``."""
        match request:
            case m.CreateConnector():
                return self.changes.create(request)
            case m.PutConfig():
                return self.changes.put_config(request)
            case m.PatchConfig():
                return self.changes.patch_config(request)
            case m.DeleteConnector():
                return self.changes.delete(request)
            case m.SetTargetState():
                return self.changes.set_target_state(request)
            case m.StopConnector():
                return self.changes.stop(request)
            case m.SetClusterLogger():
                return set_cluster_logger(request)
            case m.RestartConnector():
                return self.restarts.connector(request)
            case m.RestartTask():
                return self.restarts.task(request)
            case m.GetOffsets():
                return self.offsets.read(request)
            case m.AlterOffsets():
                return self.offsets.alter(request)
            case m.ResetOffsets():
                return self.offsets.reset(request)
            case m.CheckSignature():
                return self.inter_worker.check_signature(request)
            case m.PutTaskConfigs():
                return self.inter_worker.put_task_configs(request)
            case m.FenceTasks():
                return self.inter_worker.fence_tasks(request)
            case m.ResetTopics():
                return self.topics.reset(request)
            case m.SkipRecords():
                return self.skips.request(request)
            case m.CancelSkips():
                return self.skips.cancel(request)
            case m.ConfirmTask():
                return self.confirmation.confirm(request)
            case _:
                assert_never(request)


@dataclass(slots=True)
class Requests:
    """Requests to the herder: each is answered exactly once."""

    output: Output
    membership: Membership
    reads: Reads
    flows: RequestFlows
    timeout_ms: int
    """Time that a request waits for the internal topics to be read at the worker's start."""

    def answer(self, number: int, request: m.HerderRequest) -> None:
        """Answer a request now, or start the flow that will. Every request is answered exactly once."""

        def done(reply: m.Reply | None, error: BaseException | None) -> None:
            self.output.emit(actions.Answer(number, self._reply(request, reply, error)))

        self.output.start(self._answered(request), done)

    def _reply(
        self, request: m.HerderRequest, reply: m.Reply | None, error: BaseException | None
    ) -> m.Reply | m.Elsewhere:
        match error:
            case None:
                return reply or m.Reply(204)
            case m.Refused():
                return error.reply()
            case ElsewhereError(url=url):
                return m.Elsewhere(url)
            case ConfigError():  # for example, a reference to a config provider that cannot be resolved
                return m.Refused(400, str(error)).reply()
            case TimeoutError():
                return m.Refused(500, f"Request timed out. {error}".rstrip()).reply()
            case _:
                self.output.log("ERROR", f"A request ended in an error: {_described(request)}: {error!r}")
                return m.Refused(500, str(error) or repr(error)).reply()

    def _answered(self, request: m.HerderRequest) -> Flow:
        """Answer once the internal topics have been read: before, connectors seem not to exist."""
        if not isinstance(request, m.GetHealth):
            what = "The worker is reading its internal topics."
            yield Until(lambda: self.membership.has_read, self.timeout_ms, what)
        if isinstance(request, m.ReadRequest):
            return self.reads.answer(request)
        return (yield from self.flows.of(request))


def _described(request: m.HerderRequest) -> str:
    """Describe a request without its content, which may have passwords. Its name may be too long to be stored."""
    name = getattr(request, "name", None)
    return type(request).__name__ if name is None else f"{type(request).__name__} of {name[:MAX_NAME_LENGTH]}"
