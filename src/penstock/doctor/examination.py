"""The examination: of a worker's properties, of connectors in files, in Kafka, or of a running cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from penstock.api.errors import ConfigError, ConnectError
from penstock.core.config.converter import CONVERTERS
from penstock.core.config.restarts import policy_in
from penstock.core.config.validation import WorkerRules
from penstock.declarative.resources import read_resources
from penstock.doctor import topics
from penstock.doctor.connectors import Judge
from penstock.doctor.findings import DoctorReport, Finding, Section, Verdict
from penstock.doctor.plugins import judge_plugins
from penstock.doctor.references import judge_references
from penstock.doctor.worker import judge_worker
from penstock.files import read_file
from penstock.hosts.jvm.build import class_path, kafka_version, pass_on_class_path
from penstock.hosts.jvm.plugins.locations import java_locations
from penstock.http.client import Client
from penstock.java.errors import PropertiesError
from penstock.java.properties import parse_properties
from penstock.java.regex import compile_regex
from penstock.kafka.storage.stores import exactly_once_support
from penstock.plugins import Plugins
from penstock.plugins.jars import JavaSettings, java_plugins


def examine(
    properties: Path,
    connectors: Sequence[Path] = (),
    java: Client | None = None,
    standalone: bool = False,
    progress: Callable[[str], None] = lambda sentence: None,
) -> DoctorReport:
    """``java``: a worker of the running cluster. ``progress`` is called with a sentence before each longer step. Raises
    ConfigError for files that can't be read, ClientError if the cluster does not answer.
    """
    config = read_worker(properties)
    pass_on_class_path()
    path = [each.strip() for each in config.get("plugin.path", "").split(",") if each.strip()]
    if locations := java_locations(path):
        progress(f"Looking for plugins in {len(locations)} jars and folders of plugin.path")
    settings = JavaSettings.of(config, path)
    kafka = settings.kafka
    jvm, jars = java_plugins(settings)
    try:
        plugins = Plugins.discover([each for each in path if os.path.exists(os.path.expanduser(each))], jars)
        report = _report(properties, config, connectors, java, standalone, plugins)
        if locations:
            report.sections.insert(1, judge_references(locations, class_path(kafka), kafka_version(kafka), progress))
        return report
    finally:
        if jvm is not None:
            jvm.close()


def _report(
    properties: Path,
    config: Mapping[str, str],
    connectors: Sequence[Path],
    java: Client | None,
    standalone: bool,
    plugins: Plugins,
) -> DoctorReport:
    report = DoctorReport([judge_worker(f"Worker, {properties}", config, plugins.catalog, standalone)])
    judge = Judge(plugins, rules_of(config, standalone))
    configs: dict[str, Mapping[str, str | None]] = {
        each.name: each.wanted.config for each in read_resources(connectors, dict(os.environ))
    }
    found = None
    if not standalone:
        try:
            found = topics.look(config)
        except (ConnectError, ConfigError) as error:
            report.sections.append(Section("Kafka", (Finding(Verdict.UNCHECKED, "topics and offsets", str(error)),)))
        else:
            report.sections.append(Section("Kafka", tuple(found.findings), tuple(found.facts)))
            configs = {**found.connectors, **configs}
    if java is not None:
        report.sections.append(judge_plugins(plugins.catalog, java.plugins(connectors_only=False)))
        configs |= {name: shown["info"]["config"] for name, shown in java.expanded("info").items()}
    for name, given in sorted(configs.items()):
        text = {key: value or "" for key, value in given.items()}
        report.sections.append(judge.connector(name, text, _offsets(judge, config, found, name, text)))
    return report


def _offsets(
    judge: Judge, worker: Mapping[str, str], found: topics.ClusterContents | None, name: str, config: Mapping[str, str]
) -> tuple[str, ...]:
    if found is None:
        return ()
    if judge.is_sink(config):
        return (topics.sink_offsets(worker, name, config),)
    return (topics.source_offsets(found, name),)


def rules_of(config: Mapping[str, str], standalone: bool) -> WorkerRules:
    converters = {key: config.get(key) for key in CONVERTERS}
    return WorkerRules(
        group_id=None if standalone else config.get("group.id", ""),
        exactly_once=not standalone and exactly_once_support(config) == "enabled",
        converters=converters,
        compile=compile_regex,
        restart_policy=policy_in(config, "never"),
    )


def read_worker(properties: Path) -> dict[str, str]:
    """Return the properties of a worker. Raises ConfigError."""
    try:
        return parse_properties(read_file(properties, regular=False).decode("iso-8859-1"))
    except OSError as error:
        raise ConfigError(f"The file {properties} cannot be read: {error.strerror}") from error
    except PropertiesError as error:
        raise ConfigError(f"The file {properties} is no properties file: {error}") from error
