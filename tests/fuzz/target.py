"""Target of the attacks: the REST server of a worker with roles and allow lists, on real sockets, with real herders,
real plugins and the worker's own permissions. There is no Kafka, and no task runs.
"""

from __future__ import annotations

import itertools
import json
import logging
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bcrypt
import httpx

from fuzz.forbidden import BROKERS, DENIED, GROUP, KEEPER, OWN_OFFSETS
from penstock.core.config.internal_topics import InternalTopics
from penstock.core.model import local_requests as local
from penstock.core.model import messages as m
from penstock.http.server import RestServer
from penstock.observe import LogLevels, TextLines
from penstock.preview.messages import (
    CheckAnswer,
    CheckRequest,
    PreviewAnswer,
    PreviewRequest,
    RecordsAnswer,
    RecordsRequest,
)
from penstock.preview.process import Previews
from penstock.settings import ConfigTransformer, WorkerSettings
from penstock.settings.redaction import Redaction
from penstock.worker.configuration.configurations import Configurations, herder_settings, worker_rules
from penstock.worker.configuration.permissions import JudgeSql, WorkerPermissions
from penstock.worker.configuration.reloads import Reloads
from penstock.worker.configuration.topics import KnownConnectors
from penstock.worker.monitoring.attention import Attention
from penstock.worker.monitoring.candidates import Candidates
from penstock.worker.monitoring.previews import WorkerPreviews
from penstock.worker.target_checks import TargetChecks
from support.log_levels import levels_kept
from support.rest.cluster import RestCluster

CANARY = "canary7f3a"
ROLES = """
rules:
  - {users: [victor], actions: [view]}
  - {users: [oscar], actions: [view, operate, configure, offsets]}
  - {users: [tom], connectors: ["team-*"], actions: [view, configure]}
  - {users: [ada], actions: [view, view-config, operate, configure, offsets, dead-letters, records, skip, check, admin]}
"""
USERS = ("victor", "tom", "oscar", "ada")
MAY_SEE_SECRETS = frozenset({"ada"})
SECRETS = {
    "connector.class": "FileStreamSource",
    "topic": "t",
    "file": "ALLOWED/none",
    "producer.override.ssl.key.password": f"{CANARY}-1",
    "producer.override.sasl.jaas.config": f'org.apache.kafka.X required username="u" password="{CANARY}-2";',
    "my.api.key": f"{CANARY}-3",
    "registry.url": f"http://user:{CANARY}-4@host/",
    "connection.url": f"jdbc:postgresql://host/db?user=u&password={CANARY}-5",
    "reference": f"${{vault:/{CANARY}-6:key}}",
    "db.pass": f"{CANARY}-7",
    "db.pwd": f"{CANARY}-8",
    "hook.url": f"https://{CANARY}-9@host/1",
    "blob.url": f"https://host/container?sv=1&sig={CANARY}-10",
    "http.headers": f"Accept: x\r\nAuthorization: Bearer {CANARY}-11",
    "servers": json.dumps([{"name": "password", "value": f"{CANARY}-12"}]),
    "pem": f"-----BEGIN PRIVATE KEY-----\\n{CANARY}-13\\n-----END PRIVATE KEY-----",
    "note": f"Password = {CANARY}-14;",
    "login": f'x.PlainLoginModule required username="u" password="{CANARY}-15";',
}
PLANTED = "orders-0"


@dataclass(slots=True)
class Lines(logging.Handler):
    """All lines of the log, with those of the audit log separately."""

    texts: list[str] = field(default_factory=list)
    audit: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        logging.Handler.__init__(self)
        self.setFormatter(TextLines())

    def __hash__(self) -> int:
        return id(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(self.format(record))
        if record.name == "penstock.audit":
            self.audit.append(json.loads(record.getMessage()))


@dataclass(frozen=True, slots=True)
class NoPreviews(Previews):
    """Answers allowed previews without starting a process."""

    def run(self, request: PreviewRequest, redact: Any = str) -> PreviewAnswer:
        return PreviewAnswer("source", [], None)

    def records(self, request: RecordsRequest, redact: Any = str) -> RecordsAnswer:
        return RecordsAnswer()

    def check(self, request: CheckRequest, redact: Any = str) -> CheckAnswer:
        return CheckAnswer()


class GuardedCluster(RestCluster):
    """A cluster that judges configurations like a worker with these settings."""

    def __init__(
        self, pool: Executor, levels: LogLevels, settings: WorkerSettings, judge_sql: JudgeSql | None = None
    ) -> None:
        self._settings, plugins = settings, self.plugins
        given = herder_settings(settings, "one")
        super().__init__(pool, levels, max_record_bytes=given.max_record_bytes, max_group_bytes=given.max_group_bytes)
        redaction = Redaction()
        known = KnownConnectors(
            configs=lambda: [(name, each, 1) for name, each in self.configs().items()],
            is_source=lambda config: plugins.kind(config) == "source",
            cluster_id=lambda: "the-cluster",
        )
        permissions = WorkerPermissions.of(settings, plugins, known, *([] if judge_sql is None else [judge_sql]))
        self.configurations = Configurations(
            settings,
            plugins,
            ConfigTransformer.of(settings.config, plugins.resolve, redaction.learn_references),
            redaction,
            permissions,
            worker_rules(settings, plugins, permissions),
            Reloads(lambda request: None),
        )
        self._previews = WorkerPreviews(
            config=settings.config,
            plugins=plugins,
            known=lambda name: self.configs().get(name),
            validate=self.configurations.validate,
            resolve=self.configurations.resolve,
            check=self.configurations.check,
            clean=redaction.clean,
            sample=lambda spec, limit, seconds: _no_spark(),
            processes=NoPreviews(),
        )

    def configs(self) -> dict[str, Mapping[str, str]]:
        """Return the configuration of each connector, by its name."""
        state = self.workers["one"].herder.state
        return {name: each.config for name, each in list(state.connectors.items())}

    def _judge(self, config: Mapping[str, str | None]) -> Any:
        return self.configurations.validate(config)

    def _preview(self, request: local.Preview) -> dict[str, Any]:
        return self._previews.answer(request)

    def _check(self, request: local.CheckConfig | local.CheckConnector) -> dict[str, Any]:
        return TargetChecks(
            config=self._settings.config,
            known=lambda name: self.configs().get(name),
            configurations=self.configurations,
            internal_topics=InternalTopics,
            run=self._previews.contact,
        ).answer(request)


def _no_spark() -> Any:
    raise m.Refused(500, "there is no Spark here")


@dataclass(frozen=True, slots=True)
class Target:
    url: str
    port: int
    lines: Lines
    errors: list[str]
    cluster: GuardedCluster
    folder: str
    """Folder of ``penstock.paths.allowed``."""
    references: Path
    spark: bool = False
    """Whether Spark judges ``sql``."""
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def plant(self) -> None:
        """Create the connector with the secrets, again if a request has deleted or changed it, and two others."""
        planted = {name: value.replace("ALLOWED", self.folder) for name, value in SECRETS.items()}
        own = {key: planted[key] for key in ("connector.class", "topic", "file")}
        for name, config in (
            (PLANTED, planted),
            ("orders-1", own),
            (KEEPER, {**own, "offsets.storage.topic": OWN_OFFSETS}),
        ):
            answer = httpx.put(f"{self.url}connectors/{name}/config", json=config, auth=("ada", "right"), timeout=60)
            answer.raise_for_status()

    def judged(self, config: Mapping[str, str]) -> str | None:
        """Return why the worker refuses a configuration, or None."""
        given = {name: value.replace("ALLOWED", self.folder) for name, value in config.items()}
        return self.cluster.configurations.validate({"name": "c", **given}).message

    def hidden(self, value: str) -> str:
        """Return a reference to a config provider that has this value."""
        key = f"k{next(self._numbers)}"
        units = value.encode("utf-16-be", "surrogatepass").hex()
        escaped = "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))
        self.references.write_text(f"{key}={escaped}\n")
        return f"${{file:{self.references}:{key}}}"


@contextmanager
def target(folder: Path, judge_sql: JudgeSql | None = None) -> Iterator[Target]:
    hashed = bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode()
    (folder / "htpasswd").write_text("".join(f"{user}:{hashed}\n" for user in USERS))
    (folder / "roles.yaml").write_text(ROLES)
    allowed, secrets = folder / "allowed", folder / "secrets"
    for each in (allowed, secrets):
        each.mkdir()
    (allowed / "out").symlink_to("/etc")
    (allowed / "passwd").symlink_to("/etc/passwd")
    config = {
        "listeners": "http://127.0.0.1:0",
        "penstock.authentication.htpasswd": str(folder / "htpasswd"),
        "penstock.authorization.file": str(folder / "roles.yaml"),
        "penstock.rest.header.timeout.ms": "500",
        "penstock.rest.body.timeout.ms": "500",
    }
    settings = WorkerSettings.distributed_of(
        {
            **config,
            "bootstrap.servers": BROKERS,
            "group.id": GROUP,
            "key.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "config.storage.topic": "connect-configs",
            "offset.storage.topic": "connect-offsets",
            "status.storage.topic": "connect-status",
            "penstock.audit.topic": "connect-audit",
            "penstock.topics.denied": f"{DENIED[:-1]}*",
            "penstock.paths.allowed": str(allowed),
            "penstock.plugins.denied": "*.MirrorHeartbeatConnector, org.apache.kafka.connect.transforms.HoistField*",
            "config.providers": "file",
            "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
            "config.providers.file.param.allowed.paths": str(secrets),
        }
    )
    lines, errors, lock = Lines(), [], threading.Lock()
    root, audit = logging.getLogger(), logging.getLogger("penstock.audit")
    with levels_kept(), ThreadPoolExecutor(2) as pool:
        root.addHandler(lines)
        root.setLevel(logging.INFO)
        audit.setLevel(logging.INFO)
        cluster = GuardedCluster(pool, LogLevels(), settings, judge_sql)
        cluster.start("one")

        def submit(request: Any) -> Any:
            with lock:
                return cluster.submit("one", request)

        about = cluster.metrics("one").about
        server = RestServer(
            config,
            submit,
            metrics=lambda: b"up 1\n",
            environment={},
            about=about,
            attention=lambda: Attention(cluster.workers["one"].herder),
            candidates=lambda: Candidates(cluster.workers["one"].herder, cluster.plugins.kind),
            passwords=cluster.configurations.passwords,
        )
        server.start()
        try:
            yield Target(
                server.advertised_url,
                server.listeners[0].port,
                lines,
                errors,
                cluster,
                str(allowed),
                secrets / "values.properties",
                judge_sql is not None,
            )
        finally:
            server.stop(5)
