"""Restarts of failed connectors and tasks by ``penstock.restart.policy``. In Java they stay FAILED.

The leader decides and writes a ``PolicyRestart`` to the config topic, and every worker restarts those of its failed
instances that the record names (``core.restart``). The schedule is Strimzi's: the first restart follows the failure at
once, the others 2, 6, 12, 20, ... and at most 60 minutes after it. Ten minutes of health, or a new configuration of the
connector, begin it again. ``penstock.restart.max`` of the connector limits how many there are.

All state is in the topics, so a new leader decides as the old one would have: the time of a failure is the timestamp of
its FAILED status; the number of restarts, and the failure before the last one, are in the connector's last
``PolicyRestart``. A failure is identified by its time, so clocks that differ cannot cause a second restart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from penstock.core.config.restarts import RESTART_MAX, max_in, policy_in
from penstock.core.group.leadership import Leadership
from penstock.core.model.flow import FOREVER, Flow
from penstock.core.model.records import ConnectorStatus, PolicyRestart, RestartCount, StatusTopicRecord, TopicStatus
from penstock.core.model.settings import HerderSettings, RestartPolicyName
from penstock.core.model.state import STARTED
from penstock.core.model.tasks import TaskId
from penstock.core.status.statuses import Statuses

MINUTE_MS = 60_000
MAX_MINUTES = 60
HEALTHY_MS = 10 * MINUTE_MS
REPEAT_MS = MINUTE_MS
"""Time after which a restart that no worker has carried out is requested again: its worker may have died."""

PERMANENT = frozenset(
    {
        "org.apache.kafka.common.config.ConfigException",
        "org.apache.kafka.common.errors.InvalidConfigurationException",
        "org.apache.kafka.common.errors.AuthorizationException",
        "org.apache.kafka.common.errors.ClusterAuthorizationException",
        "org.apache.kafka.common.errors.DelegationTokenAuthorizationException",
        "org.apache.kafka.common.errors.GroupAuthorizationException",
        "org.apache.kafka.common.errors.TopicAuthorizationException",
        "org.apache.kafka.common.errors.TransactionalIdAuthorizationException",
        "org.apache.kafka.common.errors.AuthenticationException",
        "org.apache.kafka.common.errors.IllegalSaslStateException",
        "org.apache.kafka.common.errors.SaslAuthenticationException",
        "org.apache.kafka.common.errors.SslAuthenticationException",
        "org.apache.kafka.common.errors.UnsupportedSaslMechanismException",
        "java.lang.ClassNotFoundException",
        "java.lang.NoClassDefFoundError",
        "ImportError",
        "ModuleNotFoundError",
    }
)
"""Errors that last until an operator acts: configuration, authorization and authentication, missing classes."""
UNKNOWN_CLASS = "Failed to find any class that implements "
"""Message, in Java and here, of the ConnectException for a class that is not installed."""
NEWER_JAVA = "can't be used: it is compiled for Java "
"""Part of the sentence about a class from a jar that needs a newer Java."""
CAUSED_BY = "Caused by: "


def delay_ms(restarts: int) -> int:
    """Return the time from a failure to its restart, after this many restarts in a row."""
    return min(restarts * (restarts + 1), MAX_MINUTES) * MINUTE_MS


def permanent_error(trace: str | None) -> str | None:
    """Return the first line of the trace, or of a cause in it, that names a permanent error; None if there is none."""
    lines = (trace or "").splitlines()
    for line in [*lines[:1], *(line for line in lines if line.startswith(CAUSED_BY))]:
        headline = line.removeprefix(CAUSED_BY)
        name, _, message = headline.partition(":")
        if name.strip() in PERMANENT or message.lstrip().startswith(UNKNOWN_CLASS) or NEWER_JAVA in message:
            return headline
    return None


@dataclass(frozen=True, slots=True)
class Failure:
    """Failure of a connector or task that is FAILED now; times are timestamps of the status topic."""

    failed_ms: int
    running_ms: int | None
    """Time since which it had been running; None if it never was, or if that is no longer known."""
    trace: str | None


@dataclass(frozen=True, slots=True)
class Outlook:
    """Past and next restart of one connector or task by the policy, for people."""

    restarts: int
    """Number of restarts in a row."""
    next_restart_ms: int | None
    reason: str | None


@dataclass(slots=True)
class FailedInstances:
    """Connectors (task None) and tasks that are FAILED according to the status topic."""

    statuses: Statuses
    _failed: dict[str, dict[int | None, Failure]] = field(default_factory=dict)
    _running: dict[tuple[str, int | None], int] = field(default_factory=dict)
    """Times since which others are RUNNING."""

    def read(self, record: StatusTopicRecord, now: int) -> bool:
        """Return whether an instance has failed; called with every record after ``statuses`` has replayed it."""
        if isinstance(record, TopicStatus):
            return False
        name, task = (record.name, None) if isinstance(record, ConnectorStatus) else record.id
        known = self.statuses.connectors.get(name) if task is None else self.statuses.task(TaskId(name, task))
        if known is not None and known is not record:  # an outdated record, which has changed nothing
            return False
        running = self._running.pop((name, task), None)
        self._drop(name, task)
        written = now if record.written_ms is None else record.written_ms
        if record.state == "RUNNING":
            self._running[name, task] = written if running is None else running
        elif record.state == "FAILED":
            self._failed.setdefault(name, {})[task] = Failure(written, running, record.trace)
            return True
        return False

    def by_connector(self) -> Iterator[tuple[str, Mapping[int | None, Failure]]]:
        return iter(self._failed.items())

    def failure(self, connector: str, task: int | None) -> Failure | None:
        return self._failed.get(connector, {}).get(task)

    def running_since(self, connector: str, task: int | None) -> int | None:
        return self._running.get((connector, task))

    def _drop(self, name: str, task: int | None) -> None:
        failures = self._failed.get(name)
        if failures is not None:
            failures.pop(task, None)
            if not failures:
                del self._failed[name]


@dataclass(slots=True)
class RestartPolicy:
    """Duty (``leadership.Duty``) of restarting failed instances. Every worker follows failures, to show the outlook."""

    settings: HerderSettings
    leadership: Leadership
    instances: FailedInstances
    _changed: bool = True
    _by_clients: dict[str, int] = field(default_factory=dict)
    """Times at which a client's last restart request was read, by connector: it restarts failed instances too."""

    def read(self, record: StatusTopicRecord) -> None:
        """Follow failures; called with every record of the status topic after ``Statuses`` has replayed it."""
        self._changed |= self.instances.read(record, self._now)

    def configuration_changed(self) -> None:
        """Note that configurations may have changed; called when the config topic has been read further."""
        self._changed = True

    def restart_requested(self, connector: str) -> None:
        """Note a client's restart request; called when it has been read."""
        self._by_clients[connector] = self._now

    def forget(self, connector: str) -> None:
        """Forget a connector; called when it has been deleted."""
        self._by_clients.pop(connector, None)

    def policy_of(self, connector: str) -> RestartPolicyName:
        known = self.leadership.state.connectors.get(connector)
        return policy_in({} if known is None else known.config, self.settings.restart_policy)

    def max_of(self, connector: str) -> int | None:
        """Return the largest number of restarts in a row; None for any number."""
        known = self.leadership.state.connectors.get(connector)
        return None if known is None else max_in(known.config)

    def outlook(self, connector: str, task: int | None) -> Outlook | None:
        """Return the outlook of an instance; None if the policy is ``never``. May be called from any thread."""
        if self.policy_of(connector) == "never":
            return None
        failure = self.instances.failure(connector, task)
        if failure is None:
            return Outlook(self._restarts_of_a_healthy(connector, task), None, None)
        restarts, due = self._restarts(connector, task, failure), self._due(connector, task, failure)
        if (error := permanent_error(failure.trace)) is not None:
            return Outlook(
                restarts, None, f"It is not restarted, because this error lasts until somebody acts: {error}"
            )
        if due is None:
            limit = self.max_of(connector)
            if limit is not None and restarts >= limit:
                return Outlook(restarts, None, f"It is not restarted any more: {RESTART_MAX} is {limit}")
            target = self.leadership.state.target_state(connector)
            return Outlook(restarts, None, f"It is not restarted while the connector is {target}")
        return Outlook(restarts, due, next(iter((failure.trace or "").splitlines()), None))

    # -- the duty

    def is_urgent(self) -> bool:
        return self._changed

    def due_in_ms(self) -> int:
        due = [
            when
            for name, failures in self.instances.by_connector()
            for task, failure in failures.items()
            if (when := self._due(name, task, failure)) is not None
        ]
        return max(min(due) - self._now, 0) if due else FOREVER

    def perform(self, over: Callable[[], bool]) -> Flow:
        self._changed = False
        for name, failures in [(name, dict(of)) for name, of in self.instances.by_connector()]:
            record = self._due_now(name, failures)
            if record is not None and not over():
                for each in record.now:
                    instance = f"connector {name}" if each.task is None else f"task {TaskId(name, each.task)}"
                    self.leadership.output.log("INFO", f"Restarting {instance}, which has failed: restart {each.count}")
                yield from self.leadership.append(record)

    def _due_now(self, name: str, failures: Mapping[int | None, Failure]) -> PolicyRestart | None:
        """Return a restart of all instances of this connector that are due, with the counts of the others."""
        now, counts = self._now, dict(self._counts(name))
        chosen = []
        for task, failure in failures.items():
            due = self._due(name, task, failure)
            if due is not None and due <= now:
                answered = self._answer_to(name, task, failure) is not None
                count = self._restarts(name, task, failure) + (not answered)
                counts[task] = RestartCount(task, count, failure.failed_ms, now)
                chosen.append(task)
        if not chosen:
            return None
        others = tuple(count for task, count in counts.items() if task not in chosen)
        return PolicyRestart(name, tuple(counts[task] for task in chosen), others)

    # -- the schedule

    def _due(self, name: str, task: int | None, failure: Failure) -> int | None:
        """Return the time of the next restart; None for never."""
        state = self.leadership.state
        if name not in state.connectors or state.target_state(name) != STARTED or self.policy_of(name) == "never":
            return None
        if task is not None and state.task_config(TaskId(name, task)) is None:
            return None
        if permanent_error(failure.trace) is not None:
            return None
        answered = self._answer_to(name, task, failure)
        if answered is not None:
            return answered.requested_ms + REPEAT_MS
        restarts, limit = self._restarts(name, task, failure), self.max_of(name)
        if limit is not None and restarts >= limit:
            return None
        due = failure.failed_ms + delay_ms(restarts)
        return max(due, self._by_clients[name] + REPEAT_MS) if name in self._by_clients else due

    def _restarts(self, name: str, task: int | None, failure: Failure) -> int:
        """Return the number of restarts in a row, up to this failure or because of it."""
        last = self._counts(name).get(task)
        if last is None:
            return 0
        healthy_from = max(last.requested_ms, failure.running_ms or 0)
        was_healthy = last.failed_ms != failure.failed_ms and failure.failed_ms - healthy_from >= HEALTHY_MS
        return 0 if was_healthy else last.count

    def _restarts_of_a_healthy(self, name: str, task: int | None) -> int:
        last, since = self._counts(name).get(task), self.instances.running_since(name, task)
        if last is None or (since is not None and self._now - max(since, last.requested_ms) >= HEALTHY_MS):
            return 0
        return last.count

    def _answer_to(self, name: str, task: int | None, failure: Failure) -> RestartCount | None:
        """Return the restart that was requested because of this failure."""
        last = self._counts(name).get(task)
        return last if last is not None and last.failed_ms == failure.failed_ms else None

    def _counts(self, name: str) -> Mapping[int | None, RestartCount]:
        known = self.leadership.state.connectors.get(name)
        return {} if known is None else known.restarts

    @property
    def _now(self) -> int:
        return self.leadership.output.now
