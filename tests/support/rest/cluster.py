"""A cluster in memory whose workers answer HTTP, for tests of the REST API."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor, Future
from typing import Any

import httpx

from penstock.core.attention.flapping import Ends
from penstock.core.config.validation import WorkerRules
from penstock.core.model import actions as a
from penstock.core.model import events as e
from penstock.core.model import local_requests as local
from penstock.core.model import messages as m
from penstock.core.model.tasks import TaskId
from penstock.http.access.gate import RequestGate
from penstock.http.app import make_router
from penstock.http.forwarding import Peers
from penstock.http.router import Guard, Router
from penstock.http.routes.task_health import ConnectorHealth, Figures
from penstock.http.routes.workers import Workers
from penstock.observe import LogLevels
from penstock.plugins import Plugins
from penstock.worker.local import LocalAnswers
from penstock.worker.monitoring.attention import Attention, OwnRows
from penstock.worker.monitoring.candidates import Candidates
from penstock.worker.monitoring.history import History
from penstock.worker.monitoring.log_lines import LogLines
from penstock.worker.monitoring.metrics import WorkerMetrics
from penstock.worker.monitoring.task_health import restart_policy
from simulation.cluster import Cluster, Worker

Submitted = Future[m.Reply | m.Elsewhere]


class RestCluster(Cluster):
    """A cluster that validates configurations with the real plugins and keeps offsets in a dictionary."""

    plugins = Plugins.discover()

    def __init__(self, pool: Executor, levels: LogLevels, **settings: Any) -> None:
        super().__init__(lambda line: None, **settings)
        self.offsets: dict[str, dict[str, Any]] = {}
        self.figures: dict[str, Figures] = {}
        """Reports of each worker's tasks, whatever their connector."""
        self.own_rows: dict[str, OwnRows] = {}
        """Rows of the attention list that only one worker knows."""
        self.ends: Ends = {}
        """Failures and losses that count for the attention list."""
        self.versions: dict[str, str] = {}
        self.hanging: set[TaskId] = set()
        """Tasks that take no notice of a pause."""
        self._answers: dict[int, Submitted] = {}
        self._metrics: dict[str, WorkerMetrics] = {}
        self.previewed: dict[str, Any] = {"kind": "source", "records": [], "error": None}
        self.checked: dict[str, Any] = {"outcome": "ok", "steps": []}
        self.checks: list[local.CheckConfig | local.CheckConnector] = []
        """Requested checks; ``checked`` is the answer."""
        self.previews: list[local.Preview] = []
        """Requested previews; ``previewed`` is the answer."""
        self.record_requests: list[local.ListRecords] = []
        """Requests for records of topics; ``records`` is the answer."""
        self.records: dict[str, Any] = {
            "connector": "c",
            "direction": "out",
            "topics": [],
            "topic": None,
            "cluster": "localhost:9092",
            "masked": [],
            "hidden": [],
            "records": [],
            "scanned": 0,
            "complete": True,
            "next": None,
        }
        self.dead_letters: dict[str, Any] = {
            "ListDeadLetters": {
                "connector": "c",
                "setting": "s",
                "queue": None,
                "kept": 0,
                "reasons": [],
                "records": [],
            },
            "GetDeadLetter": {"record": "dead-0-42", "timestamp": None, "replayed": False},
            "ReplayDeadLetters": {
                "connector": "c",
                "queue": "dead",
                "dry_run": False,
                "replayed": [],
                "records": [],
                "skipped": 0,
                "skipped_records": [],
                "missing": [],
                "complete": True,
            },
        }
        """Answers by kind of request; there are no real dead letter queues."""
        self.log_lines = {name: LogLines(name, 100) for name in ("one", "two")}
        self.history = History(90 * 24 * 3_600_000)
        self._local = LocalAnswers(
            pool,
            self.plugins,
            levels,
            cluster_id=lambda: "the-cluster",
            check_plugin=lambda name: None,
            validate=self._judge,
            set_level=levels.set,
            history=self.history,
            preview=self._preview,
            dead_letters=lambda request: self.dead_letters[type(request).__name__],
            offset_plans=lambda request: self.dead_letters[type(request).__name__],
            topic_records=self._records,
            check=self._check,
        )

    def submit(self, worker: str, request: m.Request) -> Submitted:
        return self.history.submit(request, lambda request: self._submit(worker, request))

    def _submit(self, worker: str, request: m.Request) -> Submitted:
        """Handle a request as a worker's loop does, but at once."""
        answer: Submitted = Future()
        if isinstance(request, local.GetLogs):
            answer.set_result(m.Reply(200, self.log_lines[worker].answer(request)))
            return answer
        if isinstance(request, local.LocalRequest):
            self._local.answer(request, answer)
            return answer
        self.requests += 1
        self._answers[self.requests] = answer
        self.post(self.workers[worker], "client", e.Submitted(self.requests, request))
        self.settle()
        return answer

    def app(self, worker: str, guard: Guard | None = None, gate: RequestGate | None = None) -> Router:
        """Return the worker's REST API, which forwards requests to the other workers."""

        class ToOthers(httpx.AsyncBaseTransport):
            async def handle_async_request(_, request: httpx.Request) -> httpx.Response:
                if request.url.host not in self.workers:
                    raise httpx.ConnectError(f"there is no worker {request.url.host}")
                transport = httpx.ASGITransport(self.app(request.url.host))
                return await transport.handle_async_request(request)

        client = httpx.AsyncClient(transport=ToOthers())
        policy = self.workers[worker].herder.restart_policy
        peers = Peers(f"http://{worker}", client, lambda: self._members(worker))
        health = ConnectorHealth(
            lambda connector: self._figures(worker, connector),
            peers,
            lambda name, task: restart_policy(policy, name, task),
            lambda: {name: self._figures(worker, name) for name in self.workers[worker].herder.statuses.connectors},
        )
        workers = Workers(self.metrics(worker).about, peers)
        attention = Attention(
            self.workers[worker].herder,
            lambda: self.own_rows.get(worker, OwnRows()),
            (),
            lambda since_ms: self.ends,
            clock=lambda: self.now / 1000,
            version=self.versions.get(worker, "1"),
        )
        return make_router(
            lambda request: self.submit(worker, request),
            client,
            guard=guard,
            gate=gate,
            peers=peers,
            health=health,
            workers=workers,
            attention=attention,
            candidates=Candidates(self.workers[worker].herder, self.plugins.kind),
        )

    def _members(self, worker: str) -> list[str]:
        """Return the URLs of the group's members, as the leader knows them."""
        memberships = [each.herder.membership for each in self.workers.values()]
        if self.workers[worker].herder.membership.assignment is None:
            return []
        return [url for each in memberships if each.owners is not None for url in each.owners.workers]

    def _figures(self, worker: str, connector: str) -> Figures:
        found, work = dict(self.figures.get(worker, {})), self.workers[worker].herder.work
        for id in work.tasks:
            if id.connector == connector and work.is_stalled(id):
                found[id.task] = {**found.get(id.task, {}), "stalled": True}
        return found

    def metrics(self, worker: str) -> WorkerMetrics:
        """Return the worker's metrics, which get no events by themselves."""
        made = WorkerMetrics(self.workers[worker].herder, lambda config: config["connector.class"])
        return self._metrics.setdefault(worker, made)

    def post(self, worker: Worker, channel: str, event: Any) -> None:
        if worker.id == "one":
            self.history.observe(event)
        super().post(worker, channel, event)

    def _judge(self, config: Mapping[str, str | None]) -> Any:
        return self.plugins.validate(config, WorkerRules("the-group"))

    def _carry_out(self, worker: Worker, action: a.Action) -> None:
        match action:
            case a.PauseTask(id) if id in self.hanging:
                pass
            case a.Answer(number, reply) if number in self._answers:
                self._answers.pop(number).set_result(reply)
            case a.Validate(config, token=token):
                self.post(worker, f"ask {token}", _completed(token, lambda: self._judge(config).message))
            case a.ReadOffsets(connector, token=token):
                kept = list(self.offsets.get(connector, {}).values())
                self.post(worker, f"ask {token}", e.Completed(token, kept))
            case a.WriteOffsets(connector, _, offsets, token=token):
                self.post(worker, f"ask {token}", _completed(token, lambda: self._write(connector, offsets)))
            case _:
                super()._carry_out(worker, action)

    def _records(self, request: local.ListRecords) -> dict[str, Any]:
        self.record_requests.append(request)
        if request.name not in self.workers["one"].herder.state.connectors:
            raise m.Refused(404, f"Connector {request.name} not found")
        return self.records

    def _check(self, request: local.CheckConfig | local.CheckConnector) -> dict[str, Any]:
        self.checks.append(request)
        known = self.workers["one"].herder.state.connectors
        if isinstance(request, local.CheckConnector) and request.name not in known:
            raise m.Refused(404, f"Connector {request.name} not found")
        return {"connector": request.name, **self.checked}

    def _preview(self, request: local.Preview) -> dict[str, Any]:
        self.previews.append(request)
        return self.previewed

    def _write(self, connector: str, offsets: Any) -> str:
        if offsets is None:
            self.offsets.pop(connector, None)
            return "reset"
        for partition, offset in offsets:
            self.offsets.setdefault(connector, {})[repr(partition)] = {"partition": partition, "offset": offset}
        return "altered"


def _completed(token: int, work: Any) -> e.Completed:
    try:
        return e.Completed(token, work())
    except Exception as error:
        return e.Completed(token, error=error)
