"""Permissions of configurations by the worker's settings. Allowed functions are imported, to see what defines them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial

from penstock.api.errors import ConfigError
from penstock.api.paths import PATHS_ALLOWED, PathReader, path_problem
from penstock.core.config.catalog import Catalog, Kind
from penstock.core.config.connector import CONNECTOR_CLASS
from penstock.core.config.permissions.clients import check_clients, clients_of
from penstock.core.config.permissions.jdbc import DATABASES_ALLOWED, PROPERTIES_ALLOWED, JdbcRules
from penstock.core.config.permissions.jdbc_databases import DATABASES
from penstock.core.config.permissions.rules import (
    DEFAULT_FORMATS,
    DERBY_QUERIES,
    FORMATS_ALLOWED,
    FUNCTIONS_ALLOWED,
    PLUGINS_ALLOWED,
    PLUGINS_DENIED,
    PROGRAM_RULES,
    QUERIES,
    Permissions,
    functions_in,
)
from penstock.core.config.permissions.spark_options import OPTIONS_ALLOWED, SQL_FUNCTIONS_ALLOWED
from penstock.core.config.processes import JAVA_OPTIONS, check_java_options
from penstock.core.model.messages import Refused
from penstock.pipeline.transforms.python_function import defined_as
from penstock.plugins import Plugins
from penstock.plugins.modules import plugin_modules
from penstock.plugins.passwords import password_settings
from penstock.settings import ExactlyOnceSource, WorkerSettings
from penstock.worker.configuration.topics import KnownConnectors, WorkerTopics

JudgeSql = Callable[[str, Collection[str], Collection[str]], str | None]
"""Returns why the ``sql`` of a SparkSink or SparkSource is refused; None also if that is not known now. May block."""


@dataclass(frozen=True, slots=True)
class WorkerPermissions:
    rules: Permissions
    exactly_once: bool
    distributed: bool
    topics: WorkerTopics
    judge_sql: JudgeSql = lambda sql, functions, options: None
    functions: tuple[str, ...] = ()
    """Functions that ``sql`` may call besides Spark's harmless ones."""

    @classmethod
    def of(
        cls,
        settings: WorkerSettings,
        plugins: Plugins,
        known: KnownConnectors | None = None,
        judge_sql: JudgeSql = lambda sql, functions, options: None,
    ) -> WorkerPermissions:
        values = settings.values
        functions, formats, paths = values[FUNCTIONS_ALLOWED], values[FORMATS_ALLOWED], values[PATHS_ALLOWED]
        if functions is None:
            functions = [f"{module}.*" for module in plugin_modules(settings.plugin_path)]
        return cls(
            Permissions(
                tuple(values[PLUGINS_ALLOWED]),
                tuple(values[PLUGINS_DENIED]),
                tuple(functions),
                DEFAULT_FORMATS if formats is None else tuple(formats),
                None if paths is None else partial(_path_problem, tuple(paths)),
                plugins.override_policy(settings.override_policy, settings.config),
                {rule.allowing: tuple(values[rule.allowing]) for rule in PROGRAM_RULES},
                values[DERBY_QUERIES],
                JdbcRules(
                    tuple(DATABASES if (databases := values[DATABASES_ALLOWED]) is None else databases),
                    tuple(values[PROPERTIES_ALLOWED]),
                ),
                tuple(values[OPTIONS_ALLOWED]),
            ),
            settings.exactly_once is ExactlyOnceSource.ENABLED,
            settings.distributed,
            WorkerTopics(settings, known or KnownConnectors()),
            judge_sql,
            tuple(values[SQL_FUNCTIONS_ALLOWED]),
        )

    def problems(self, catalog: Catalog, props: Mapping[str, str | None]) -> list[tuple[str, str]]:
        """Find settings that are not allowed.

        Only allowed modules are imported; a function that one has from elsewhere is refused.
        """
        found = self._rule_problems(catalog, props)
        if not found:
            plugin = catalog.load((props.get(CONNECTOR_CLASS) or "").strip())
            found += self.topics.problems(plugin, props, may_connect=partial(self._may_connect, catalog, props))
            sql = (props.get("sql") or "").strip().rstrip(";")  # as the tasks take it
            if not found and sql and plugin is not None and plugin.java_name in QUERIES:
                problem = self.judge_sql(sql, self.functions, self.rules.options)
                found += [] if problem is None else [("sql", problem)]
        return found

    def _rule_problems(self, catalog: Catalog, props: Mapping[str, str | None]) -> list[tuple[str, str]]:
        found = self.rules.problems(catalog, props)
        if found:
            return found
        for key, name in functions_in(catalog, props):
            if key.endswith(".function") and (defined := defined_as(name)) and (of := self.rules.of_function(defined)):
                found.append((key, of))
        return found

    def _may_connect(self, catalog: Catalog, props: Mapping[str, str | None]) -> bool:
        """Whether the overrides of clients are allowed. Only then may a client be made before the connector runs."""
        try:
            self._check_policy(catalog, props, None)
        except Exception:  # the policy may be a plugin; its answer is reported where it is asked for good
            return False
        return True

    def check_class(self, catalog: Catalog, config: Mapping[str, str | None]) -> None:
        """Raises ConfigError for a connector's class that is not allowed; called before an object of it is made."""
        if problem := self.rules.of_plugin(catalog, config.get(CONNECTOR_CLASS) or ""):
            raise ConfigError(f"{CONNECTOR_CLASS}: {problem}")

    def passwords(self, catalog: Catalog, props: Mapping[str, str | None]) -> frozenset[str]:
        """Return the settings that allowed plugins define as passwords. Asks the plugins, which may block."""
        return password_settings(catalog, props, lambda name: self.rules.of_plugin(catalog, name) is None)

    def check_plugin(self, catalog: Catalog, name: str) -> None:
        """Check a plugin whose settings are requested. Raises Refused (403) if it is not allowed."""
        if problem := self.rules.of_plugin(catalog, name):
            raise Refused(403, problem)

    def check_overrides(
        self, catalog: Catalog, props: Mapping[str, str | None], clients: Collection[str] | None = None
    ) -> None:
        """Raises ConnectError for settings of clients that this worker's policy does not let the connector override: of
        all its clients, or of those with these prefixes. Called, with references resolved, before they are made. The
        policy may be a plugin. Raises InternalTopicError for topics and groups of workers, and ConfigError for files
        that are not in the allowed folders.
        """
        for key, problem in self.rules.files(catalog, props):
            raise ConfigError(f"{key}: {problem}")
        self._check_policy(catalog, props, clients)
        self._check_topics(catalog, props)

    def _check_topics(self, catalog: Catalog, props: Mapping[str, str | None]) -> None:
        plugin = catalog.load((props.get(CONNECTOR_CLASS) or "").strip())
        self.topics.check(plugin, props, may_connect=partial(self._may_connect, catalog, props))

    def _check_policy(self, catalog: Catalog, props: Mapping[str, str | None], clients: Collection[str] | None) -> None:
        found = catalog.load((props.get(CONNECTOR_CLASS) or "").strip())
        name, source = ("", True) if found is None else (found.java_name, Kind.SOURCE in found.kinds)
        if clients is None:
            clients = clients_of(name, props, source, exactly_once=self.exactly_once, distributed=self.distributed)
        check_clients(self.rules.policy, props, clients, source)

    def check(self, catalog: Catalog, props: Mapping[str, str | None]) -> None:
        """Raises ConfigError for a configuration that is not allowed, when it is about to be used; InternalTopicError
        for topics and groups of workers.
        """
        for key, problem in self._rule_problems(catalog, props):
            raise ConfigError(f"{key}: {problem}")
        self._check_topics(catalog, props)
        check_java_options(JAVA_OPTIONS, props.get(JAVA_OPTIONS))


def _path_problem(allowed: tuple[str, ...], given: str, reader: PathReader) -> str | None:
    return path_problem(given, allowed, reader)
