"""A worker, assembled from its settings: loop, foundation, connectors, tasks on Spark, REST interface.

``start`` answers REST at once, while topics are still being read and Spark is starting. ``stop`` ends in the opposite
order: no more requests, then all work, then the membership in the group, then everything else; nothing is left
running.
"""

from __future__ import annotations

import functools
import logging
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future

from penstock.api.errors import ConfigError
from penstock.api.processes import ENVIRONMENT
from penstock.core.config.overrides import PRODUCER
from penstock.core.herder import Herder
from penstock.core.model.events import LoopEvent
from penstock.core.model.messages import Elsewhere, Reply, Request
from penstock.http.access.authentication.forwarded import KEY as FORWARDING_KEY
from penstock.http.access.listeners import RestSettingError
from penstock.http.access.tls import client_context
from penstock.http.server import ListenError, RestServer
from penstock.java import key_stores
from penstock.java.text import java_class_name
from penstock.kafka import admin
from penstock.kafka.background import Deadline, await_done
from penstock.kafka.client_settings import internal, own_client_id
from penstock.kafka.clients import check_addresses, new_admin
from penstock.kafka.fencing import TIMEOUT_S as FENCING_S
from penstock.kafka.fencing import fence
from penstock.kafka.group.member_log import StoredMembers
from penstock.kafka.group.members import GroupMembers
from penstock.observe import LogLevels, name_worker, redact_by
from penstock.plugins import Plugins
from penstock.plugins.jars import JavaSettings, java_plugins
from penstock.settings import ExactlyOnceSource, WorkerSettings
from penstock.settings.alerts import secrets_of
from penstock.settings.providers import ConfigTransformer
from penstock.settings.redaction import Redaction
from penstock.settings.security import plugin_environment
from penstock.spark.hosted import HostedTasks
from penstock.spark.settings import HostSettings
from penstock.threads import Threads
from penstock.worker.background import Background
from penstock.worker.configuration.configurations import (
    Configurations,
    check_converters,
    herder_settings,
    max_record_bytes,
    worker_rules,
)
from penstock.worker.configuration.permissions import WorkerPermissions
from penstock.worker.configuration.reloads import Reloads
from penstock.worker.configuration.topics import KnownConnectors, TopicUpdates
from penstock.worker.connectors.connectors import Connectors
from penstock.worker.connectors.run import ConnectorSetup
from penstock.worker.distributed import KafkaFoundation
from penstock.worker.local import LocalAnswers, WorkerLevels
from penstock.worker.loop import Loop, Parts
from penstock.worker.monitoring.alerts import AlertWebhook
from penstock.worker.monitoring.candidates import Candidates
from penstock.worker.monitoring.dead_letters import DeadLetters
from penstock.worker.monitoring.history import History
from penstock.worker.monitoring.log_lines import AuditTopic, LogLines, audit_refusals
from penstock.worker.monitoring.metrics import WorkerMetrics
from penstock.worker.monitoring.previews import WorkerPreviews
from penstock.worker.monitoring.problems import Problems
from penstock.worker.monitoring.prometheus_text import PrometheusText
from penstock.worker.monitoring.task_health import TaskHealth, restart_policy
from penstock.worker.monitoring.telemetry import Known, Telemetry
from penstock.worker.monitoring.topic_records import TopicRecords
from penstock.worker.offset_plans import OffsetPlans
from penstock.worker.offsets import OffsetsAccess
from penstock.worker.skips import SkipExamination
from penstock.worker.specs import Specs, WorkerFacts
from penstock.worker.standalone import MemoryFoundation
from penstock.worker.stored_connectors import StoredConnectors
from penstock.worker.target_checks import TargetChecks
from penstock.worker.task_launcher import TaskLauncher

log = logging.getLogger(__name__)

CLOSE_S = 5.0
"""Time for the config providers to close."""


class Worker:
    """A worker, distributed or standalone as its settings say."""

    def __init__(self, settings: WorkerSettings) -> None:
        """Raises ConfigError for settings that are not valid, and ListenError for a port that is taken."""
        self.settings = settings
        config = dict(settings.config)
        os.environ[ENVIRONMENT] = plugin_environment(config, settings.values["penstock.plugins.environment"])
        self.failure: Exception | None = None
        """The cause, once ``failed`` is set."""
        self.failed = threading.Event()
        try:
            check_addresses(settings.bootstrap_servers)
        except ConfigError as error:
            raise ConfigError(f"{error}; expected host:port, as in localhost:9092") from error
        self._jvm, jars = java_plugins(JavaSettings.of(config, settings.plugin_path))
        self._plugins = Plugins.discover(settings.plugin_path, jars, config)
        check_converters(settings, self._plugins.catalog)
        self._redaction = Redaction()
        self._providers = ConfigTransformer.of(config, self._plugins.resolve, self._redaction.learn_references)
        of_webhook = secrets_of(config)
        self._redaction.learn_own({**config, **of_webhook}, (FORWARDING_KEY, *of_webhook))
        permissions = WorkerPermissions.of(
            settings, self._plugins, self._known_connectors(), lambda *given: self._hosts.judge_sql(*given)
        )
        self._topics = permissions.topics
        rules = worker_rules(settings, self._plugins, permissions)
        self._reloads = Reloads(self.submit)
        self._configurations = Configurations(
            settings,
            self._plugins,
            self._providers,
            self._redaction,
            permissions,
            rules,
            self._reloads,
        )
        try:
            self._server = RestServer(
                config,
                self.submit,
                stores=key_stores,
                metrics=lambda: self._prometheus.render(),
                about=lambda: self._metrics.about(),
                figures=lambda connector: self._health.of(connector),
                in_short=lambda: self._health.in_short(),
                restarts=lambda name, task: restart_policy(self._herder.restart_policy, name, task),
                attention=lambda: self._problems.attention,
                candidates=lambda: Candidates(self._herder, self._plugins.kind),
                passwords=self._configurations.passwords,
                clean=self._redaction.clean,
                members=self._member_urls,
            )
        except (RestSettingError, ListenError) as error:
            raise ConfigError(str(error)) from error
        self._group_members = GroupMembers(config, settings.group.group_id if settings.group else "")
        self.url = self._server.advertised_url
        self.id = self.url.split("://")[1].strip("/")
        name_worker(self.id)
        self._herder = Herder(herder_settings(settings, self.id), self._plugins)
        self._health = TaskHealth(
            self._herder.work.is_stalled, is_known=lambda connector: connector in self._herder.state.connectors
        )
        self._log_lines = LogLines(self.id, settings.values["penstock.logs.lines"])
        self._history = History.of(settings, lambda: self._herder.membership.is_leader)
        self._metrics = WorkerMetrics(self._herder, self._configurations.class_name, failures=self._history.failures)
        self._problems = Problems(config, self._herder, self._plugins, self._configurations, self._history)
        self._alerts = AlertWebhook.of(
            settings, self._herder, lambda: self._problems.attention.here(), self._history, self._redaction.clean
        )
        self._prometheus = PrometheusText(self._metrics.values)
        self._stored = StoredConnectors(self._herder, self._plugins, self._configurations)
        known = Known(self.id, self._prometheus.families, self._stored.for_lineage, self._configurations.resolve)
        self._telemetry = Telemetry.of(settings, known)
        self._audit = AuditTopic(config, (settings.values["penstock.audit.topic"] or "").strip())
        self._loop = Loop(self._herder, self._fail)
        redact_by(self._redaction.clean)
        self._levels = LogLevels()
        self._foundation: KafkaFoundation | MemoryFoundation
        if settings.distributed:
            self._foundation = KafkaFoundation(settings, self.url, self._loop.deliver, self._fail)
        else:
            self._foundation = MemoryFoundation(settings, self.url, self._loop.deliver)
        members = StoredMembers(self._foundation.offset_store, settings.group.group_id if settings.group else "")
        self._hosts = HostedTasks(HostSettings.of(config, self.id), self._deliver, members)
        self._hosts.revocation_left = self._foundation.revocation_left
        self._topic_updates = TopicUpdates(
            self._topics, lambda: self._herder.state.position, self._hosts.internal_topics
        )
        self._parts = self._make_parts(config)
        self._metrics.connectors_plugins = self._parts.connectors.plugin_metrics

    def start(self) -> None:
        """Start the worker. Returns as soon as REST answers; topics and Spark follow."""
        self._log_lines.start()
        self._loop.start(self._parts)
        self._server.start()
        self._hosts.start()
        self._history.start()
        self._problems.start()
        if self._alerts is not None:
            self._alerts.start()
        self._foundation.open()
        self._telemetry.start()

    def stop(self) -> None:
        """Stop the worker.

        Blocks until everything has ended, within the time that the settings give tasks to stop, and some more.
        """
        patience = self.settings.task_shutdown_timeout_ms / 1000
        self._reloads.close()
        if self._alerts is not None:
            self._alerts.close()
        self._server.stop(timeout=5)
        ends: list[Callable[[], None]] = [self._foundation.leave, lambda: self._hosts.close(timeout=patience)]
        if not self._loop.shut_down(timeout=patience + 15):
            log.error("Not all connectors and tasks of this worker have stopped; killing its tasks")
            ends.reverse()  # the group gives its tasks to others as soon as this worker leaves
        for end in ends:
            end()
        self._foundation.close()
        self._history.close()
        self._problems.close()
        self._telemetry.close()
        self._close_providers()
        self._audit.close()
        self._plugins.close()
        if self._jvm is not None:
            self._jvm.close()
        log.info("Worker stopped")
        self._log_lines.close()

    def _close_providers(self) -> None:
        """Close the config providers, which are plugins: the worker ends whether they do or not."""
        try:
            Threads().submit(self._providers.close).result(CLOSE_S)
        except Exception:
            log.exception("The config providers could not be closed within %g s", CLOSE_S)

    @property
    def submit(self) -> Callable[[Request], Future[Reply | Elsewhere]]:
        """See ``Loop.submit``."""
        return lambda request: self._history.submit(request, self._loop.submit)

    # -- the parts

    def _make_parts(self, config: dict[str, str]) -> Parts:
        settings, configurations = self.settings, self._configurations
        group_id = settings.group.group_id if settings.group else ""
        exactly_once = settings.exactly_once is ExactlyOnceSource.ENABLED
        offsets = OffsetsAccess(
            config,
            self._foundation.offset_store,
            self._plugins,
            configurations.resolve,
            configurations.new_connector,
            configurations.check_overrides,
        )
        setup = ConnectorSetup(
            new=configurations.new_connector,
            resolve=configurations.resolve,
            resolve_to_start=configurations.resolve_to_start,
            starts=self._problems.starts,
            check=configurations.check_connector,
            prepare=configurations.prepare,
            task_class_name=java_class_name,
            offsets=lambda name, config: [(each.partition, each.offset) for each in offsets.for_task(name, config)],
            max_record_bytes=max_record_bytes(settings),
            internal_topics=self._topics.internal,
        )
        of_tasks = {name: value for name, value in config.items() if name != FORWARDING_KEY}
        facts = WorkerFacts(
            config=of_tasks,
            group_id=group_id,
            exactly_once=exactly_once,
            track_topics=settings.topic_tracking,
            plugin_path=settings.plugin_path,
            cluster_id=self._cluster_id,
            variables=self._telemetry.variables,
            internal_topics=self._topics.internal,
        )
        specs = Specs(facts, self._plugins, configurations.resolve, configurations.check_task, offsets)
        try:
            tls = client_context(config, key_stores)
        except RestSettingError as error:
            raise ConfigError(str(error)) from error
        threads = Threads()
        background = Background(
            threads,
            self._loop.deliver,
            validate=configurations.accept,
            offsets=offsets,
            fence=self._fence,
            skip=SkipExamination(
                config, configurations.resolve, self._plugins.kind, configurations.check_overrides
            ).examine,
            tls=tls,
        )
        previews = WorkerPreviews(
            config=of_tasks,
            plugins=self._plugins,
            known=self._stored.config,
            validate=configurations.validate,
            resolve=configurations.resolve,
            check=configurations.check,
            clean=self._redaction.clean,
            sample=self._hosts.sample,
            internal_topics=self._topics.internal,
            plugin_path=settings.plugin_path,
        )
        levels = WorkerLevels(self._levels, self._hosts.log_level)
        kind_of, overrides, internal = self._plugins.kind, configurations.check_overrides, self._topics.internal
        local = LocalAnswers(
            threads,
            self._plugins,
            self._levels,
            cluster_id=self._cluster_id,
            check_plugin=configurations.check_plugin,
            validate=configurations.validate,
            set_level=levels.set,
            history=self._history,
            log_lines=self._log_lines,
            preview=previews.answer,
            dead_letters=DeadLetters(
                config, self._stored.resolved, kind_of, previews.decoded, overrides, internal
            ).answer,
            offset_plans=OffsetPlans(config, self._stored.resolved, kind_of, overrides).answer,
            topic_records=TopicRecords(
                *(of_tasks, settings.plugin_path, self._stored.resolved, kind_of, self._herder.statuses.topics.of),
                *(configurations.check, overrides, internal, previews.records),
            ).answer,
            check=TargetChecks(
                config=of_tasks,
                known=self._stored.config,
                configurations=configurations,
                internal_topics=internal,
                run=previews.contact,
            ).answer,
        )
        return Parts(
            foundation=self._foundation,
            connectors=Connectors(setup, self._deliver, settings.task_shutdown_timeout_ms / 1000),
            tasks=TaskLauncher(self._hosts, specs, self._loop.submit, self._deliver),
            background=background,
            local=local,
            set_log_level=lambda name, level: void(levels.set(name, level)),
            store_offsets=offsets.store,
            observe=self._observe,
        )

    def _deliver(self, event: LoopEvent) -> None:
        """Deliver an event of a connector or a task, which may repeat secrets."""
        self._loop.deliver(self._redaction.clean_event(event))

    def _member_urls(self) -> tuple[str, ...]:
        """Return the URLs of the group's members: the leader knows them, other workers ask the coordinator."""
        membership = self._herder.membership
        if not self.settings.distributed or membership.assignment is None:
            return ()
        if membership.owners is not None:
            return membership.known_workers
        return self._group_members.urls() or membership.known_workers

    def _known_connectors(self) -> KnownConnectors:
        """Return access to the herder's state, which is made later."""
        return KnownConnectors(
            configs=lambda: [
                (name, each.config, len(each.task_configs))
                for name, each in list(self._herder.state.connectors.items())
            ],
            active=lambda: self._herder.statuses.topics.pairs(),
            is_source=lambda config: self._plugins.kind(config) == "source",
            is_query_sink=lambda config: self._plugins.is_query_sink(config),
            resolve=lambda config: self._configurations.resolve(config),
            cluster_id=self._cluster_id,
        )

    @functools.cache  # noqa: B019 - one worker a process
    def _cluster_id(self) -> str:
        config = self.settings.config
        return admin.cluster_id(new_admin(internal(config, "admin", own_client_id(config, "cluster-id"))))

    def _fence(self, name: str, tasks: int, config: Mapping[str, str], deadline: Deadline) -> None:
        resolved = {**self._configurations.resolve(config), "name": name}
        self._configurations.check_overrides(resolved, (PRODUCER,))
        worker, timeout = self.settings.config, deadline.within(FENCING_S)
        await_done(
            lambda done: fence(worker, resolved, tasks, lambda _, error: done(error), timeout), f"fence tasks of {name}"
        )

    def _observe(self, event: LoopEvent) -> None:
        audit_refusals(event)
        self._audit.serve()
        self._topic_updates.observe(event)
        self._metrics.observe(event)
        self._health.observe(event)
        self._history.observe(event)
        self._problems.observe(event)
        self._telemetry.observe(event)
        self._reloads.observe(event)

    def _fail(self, error: Exception) -> None:
        self.failure = error
        self.failed.set()


def void(_: object) -> None:
    return None
