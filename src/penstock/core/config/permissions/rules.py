"""Permissions of a connector's configuration: the plugins, functions, formats, folders and programs that it may name.

Checked before anything of the configuration is used: nothing is imported, no class is asked for its settings. Checked
again when a connector and its tasks start, because references to config providers may have other values by then, and
the config topic may hold what no worker has validated.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from penstock.api.config import ConfigType, parse_type, with_prefix
from penstock.api.paths import PathReader
from penstock.api.programs import (
    DLT_PYTHON,
    DLT_SOURCE,
    PYTHONS_ALLOWED,
    SINGER_TAP,
    SINGER_TARGET,
    SOURCES_ALLOWED,
    TAPS_ALLOWED,
    TARGETS_ALLOWED,
)
from penstock.core.config.catalog import Catalog
from penstock.core.config.connector import CONNECTOR_CLASS
from penstock.core.config.converter import CONVERTERS
from penstock.core.config.overrides import ALL, CONSUMER, OverridePolicy
from penstock.core.config.permissions.clients import (
    JDBC_SINK,
    SPARK_SINK,
    SPARK_SOURCE,
    java_problems,
    override_problems,
)
from penstock.core.config.permissions.files import file_problems, form_problems
from penstock.core.config.permissions.jdbc import (
    JdbcRules,
    database_kind,
    sqlite_problem,
    sqlite_suffix_problem,
    statement_problems,
)
from penstock.core.config.permissions.spark_options import option_problems

Props = Mapping[str, str | None]
Problem = tuple[str, str]
"""A setting of the connector, and a sentence."""

PLUGINS_ALLOWED, PLUGINS_DENIED = "penstock.plugins.allowed", "penstock.plugins.denied"
FUNCTIONS_ALLOWED, FORMATS_ALLOWED = "penstock.functions.allowed", "penstock.spark.formats.allowed"
DERBY_QUERIES = "penstock.jdbc.derby.queries"
DEFAULT_FORMATS = (
    *("parquet", "orc", "json", "csv", "text", "xml", "avro", "binaryfile", "delta", "iceberg", "hudi", "jdbc"),
    *("kafka", "rate", "rate-micro-batch"),
)
PYTHON_FUNCTION = "penstock.transforms.PythonFunction"
JDBC_SOURCE = "io.confluent.connect.jdbc.JdbcSourceConnector"
QUERIES = (SPARK_SINK, SPARK_SOURCE)
_MIRROR = "org.apache.kafka.connect.mirror.Mirror"
MIRROR_CLASSES = (
    "replication.policy.class",
    "topic.filter.class",
    "group.filter.class",
    "config.property.filter.class",
    "forwarding.admin.class",
)
QUERIES_OF_JDBC = {"query": sqlite_problem, "query.masked": sqlite_problem, "query.suffix": sqlite_suffix_problem}
"""Settings of the JDBC source that have SQL, with the check of it for SQLite."""
_KAFKA = "org.apache.kafka."
_OPTION, _KAFKA_OPTION = "option.", "kafka."
_CONNECTION = "connection."
_NO_PROPERTIES = frozenset({"attempts", "backoff.ms"})
"""Settings ``connection.*`` of the JDBC connectors that are no properties of the driver."""


@dataclass(frozen=True, slots=True)
class Permissions:
    """Permissions that a worker gives; ``*`` in a pattern stands for any text.

    ``functions`` and ``formats`` are those that are allowed.
    """

    plugins: tuple[str, ...] = ("*",)
    denied: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    formats: tuple[str, ...] = DEFAULT_FORMATS
    path_problem: Callable[[str, PathReader], str | None] | None = None
    """Returns why a file or folder may not be used; None allows all."""
    policy: OverridePolicy = ALL
    programs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Patterns of the programs that connectors may run, by the setting of the worker."""
    derby_queries: bool = False
    """Whether a JDBC source may have SQL for Derby, which can call Java code."""
    jdbc: JdbcRules = field(default_factory=JdbcRules)
    """Its rules about files are ``path_problem``."""
    options: tuple[str, ...] = ()
    """Patterns of further options of Spark, as ``format.option``."""

    def problems(self, catalog: Catalog, props: Props) -> list[Problem]:
        """Return what is not allowed in a configuration whose references are resolved."""
        found = catalog.load((props.get(CONNECTOR_CLASS) or "").strip())
        name = "" if found is None else found.java_name
        return [
            *self._of_plugins(catalog, props),
            *override_problems(props),
            *((key, problem) for key, given in functions_in(catalog, props) if (problem := self.of_function(given))),
            *self._of_paths(name, props),
            *self._of_queries(name, props),
            *self._of_databases(name, props),
            *program_problems(name, props, self.programs),
        ]

    def of_function(self, name: str) -> str | None:
        """Return why a function, as ``module:function``, may not be called, or None."""
        plain = name.strip().replace(":", ".")
        if any(fnmatchcase(plain, pattern.replace(":", ".")) for pattern in self.functions):
            return None
        return f"{name} is not among the functions that `{FUNCTIONS_ALLOWED}` of the worker allows"

    def of_plugin(self, catalog: Catalog, given: str) -> str | None:
        """Return why a plugin, by any of its names, may not be used, or None."""
        found = catalog.load(given.strip())
        name = given.strip() if found is None else found.java_name
        if any(fnmatchcase(name, pattern) for pattern in self.denied):
            return f"{name} is denied by `{PLUGINS_DENIED}` of the worker"
        if not any(fnmatchcase(name, pattern) for pattern in self.plugins):
            return f"{name} is not among the plugins that `{PLUGINS_ALLOWED}` of the worker allows"
        return None

    def _of_plugins(self, catalog: Catalog, props: Props) -> Iterator[Problem]:
        for key, given in plugins_in(props):
            if problem := self.of_plugin(catalog, given):
                yield key, problem

    def files(self, catalog: Catalog, props: Props) -> list[Problem]:
        """Return the files and folders of a configuration that may not be used; its references are resolved."""
        found = catalog.load((props.get(CONNECTOR_CLASS) or "").strip())
        return list(self._of_paths("" if found is None else found.java_name, props))

    def _of_paths(self, connector: str, props: Props) -> Iterator[Problem]:
        wrong = list(form_problems(connector, props))
        yield from wrong
        if self.path_problem is not None:
            told = {key for key, _ in wrong}
            found = file_problems(connector, props, self.path_problem)
            yield from ((key, problem) for key, problem in found if key not in told)

    def _of_queries(self, connector: str, props: Props) -> Iterator[Problem]:
        if connector in (SPARK_SINK, JDBC_SINK):
            # Spark's Kafka source gets them, too.
            overrides = with_prefix(props, CONSUMER)
            yield from java_problems(overrides, CONSUMER)
        if connector not in QUERIES:
            return
        kind = (props.get("format") or "parquet").strip().casefold()
        if kind not in map(str.casefold, self.formats):
            yield "format", f"{kind} is not among the formats that `{FORMATS_ALLOWED}` of the worker allows"
        options = with_prefix(props, _OPTION)
        for key, problem in option_problems(kind, options, self.options):
            yield f"{_OPTION}{key}", problem
        if kind == "jdbc":
            for key, problem in (*self._jdbc().problems(options, sparks=True), *statement_problems(options)):
                yield f"{_OPTION}{key}", problem
        else:  # a format that opens databases, such as Hudi's to tell Hive of its tables
            for key, value in options.items():
                if (url := (value or "").strip()).casefold().startswith("jdbc:"):
                    yield from ((f"{_OPTION}{key}", problem) for problem in self._jdbc().of_url(url))
        if kind == "kafka":
            # Spark takes names of options in any case.
            clients = {
                key.strip().casefold().removeprefix(_KAFKA_OPTION): value
                for key, value in options.items()
                if key.strip().casefold().startswith(_KAFKA_OPTION)
            }
            for validated in self.policy.validate(clients):
                for error in validated.errors:
                    yield f"{_OPTION}{_KAFKA_OPTION}{validated.name}", error
            yield from java_problems(clients, f"{_OPTION}{_KAFKA_OPTION}")

    def _of_databases(self, connector: str, props: Props) -> Iterator[Problem]:
        if connector not in (JDBC_SINK, JDBC_SOURCE):
            return
        options = with_prefix(props, _CONNECTION)
        options = {name: value for name, value in options.items() if name not in _NO_PROPERTIES}
        for key, problem in self._jdbc().problems(options):
            yield f"{_CONNECTION}{key}", problem
        kind = database_kind(props.get(f"{_CONNECTION}url") or "")
        if kind == "duckdb" and (props.get("quote.sql.identifiers") or "").strip().casefold() == "never":
            yield "quote.sql.identifiers", "has to be always: DuckDB's SQL can read and write files"
        if connector == JDBC_SOURCE:
            for key, problem_of in QUERIES_OF_JDBC.items():
                sql = props.get(key)
                if sql and kind == "derby" and not self.derby_queries:
                    yield key, f"Derby's SQL can call Java code; `{DERBY_QUERIES}` of the worker allows it"
                elif sql and kind == "duckdb":
                    yield key, "DuckDB's SQL can read and write files: name tables instead"
                elif sql and kind == "sqlite" and (why := problem_of(sql)):
                    yield key, f"SQLite's SQL can open other files, or load code: {why}"

    def _jdbc(self) -> JdbcRules:
        return replace(self.jdbc, path_problem=None if self.path_problem is None else self._of_file)

    def _of_file(self, path: str) -> str | None:
        # Some drivers take URLs of files.
        reader = PathReader.HADOOP if path.strip().casefold().startswith("file:") else PathReader.OPEN
        return None if self.path_problem is None else self.path_problem(path, reader)


def plugins_in(props: Props) -> Iterator[tuple[str, str]]:
    """Yield the settings that name plugins, with those names."""
    for key in (CONNECTOR_CLASS, *CONVERTERS):
        if given := props.get(key):
            yield key, given
    for _, key, given in _aliases(props):
        yield key, given


def functions_in(catalog: Catalog, props: Props) -> Iterator[tuple[str, str]]:
    """Yield the settings that name functions and classes of Python modules, with those names."""
    for prefix, _, given in _aliases(props):
        found = catalog.load(given.strip())
        name = props.get(f"{prefix}.function")
        if found is not None and found.java_name == PYTHON_FUNCTION and name:
            yield f"{prefix}.function", name
    found = catalog.load((props.get(CONNECTOR_CLASS) or "").strip())
    if found is not None and found.java_name.startswith(_MIRROR):
        for key in MIRROR_CLASSES:
            if (name := props.get(key)) and not name.startswith(_KAFKA):
                yield key, name


def _aliases(props: Props) -> Iterator[tuple[str, str, str]]:
    """Yield for each transform and predicate the prefix of its settings, the setting of its class, and the class."""
    for key in ("transforms", "predicates"):
        for alias in dict.fromkeys(parse_type(key, props.get(key), ConfigType.LIST) or []):
            if given := props.get(f"{key}.{alias}.type"):
                yield f"{key}.{alias}", f"{key}.{alias}.type", given


_EXECUTABLES = "executables"


@dataclass(frozen=True, slots=True)
class ProgramRule:
    """Setting of a connector that names a program to run: a tap or target of Singer, a source of dlt.

    No program is allowed by default.
    """

    connector: str
    setting: str
    """Setting of the connector that names the program."""
    allowing: str
    """Setting of the worker with patterns of the programs that are allowed."""
    what: str = _EXECUTABLES


PROGRAM_RULES = (
    ProgramRule("penstock.connectors.SingerSource", SINGER_TAP, TAPS_ALLOWED),
    ProgramRule("penstock.connectors.SingerSink", SINGER_TARGET, TARGETS_ALLOWED),
    ProgramRule("penstock.connectors.DltSource", DLT_SOURCE, SOURCES_ALLOWED, "sources"),
    ProgramRule("penstock.connectors.DltSource", DLT_PYTHON, PYTHONS_ALLOWED),
)


def program_problems(
    connector: str, props: Mapping[str, str | None], allowed: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, str]]:
    """Yield the programs that are not allowed. ``allowed``: patterns by the setting of the worker."""
    for rule in PROGRAM_RULES:
        given = props.get(rule.setting) if rule.connector == connector else None
        if given and not _is_allowed(given, rule, allowed.get(rule.allowing, ())):
            yield rule.setting, f"{given} is not among the {rule.what} that `{rule.allowing}` of the worker allows"


def _is_allowed(given: str, rule: ProgramRule, patterns: Sequence[str]) -> bool:
    """Whether a pattern allows it. Paths have to be plain, so that patterns mean what they say."""
    if posixpath.normpath(given) != given or (rule.what == _EXECUTABLES and not posixpath.isabs(given)):
        return False
    return any(fnmatchcase(given, pattern) for pattern in patterns)
