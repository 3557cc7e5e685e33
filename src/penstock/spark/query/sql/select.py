"""The setting ``sql``: one SELECT from the view of a batch, and nothing else.

Checked twice, by lists of what is allowed (``allowed.toml``): the plan that Spark's parser makes of it, before Spark
looks anything up or computes anything, and the plan that Spark has analyzed, which is the one that runs. Users who may
create connectors need not be allowed to run commands on executors, to call methods of Java, to read files or other
tables.
"""

from __future__ import annotations

import functools
import json
import tomllib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from penstock.api.errors import ConfigError, ConnectError
from penstock.core.config.permissions.spark_options import OPTIONS_ALLOWED, is_option, options_of
from penstock.spark.query.dataframes import METADATA, VIEW
from penstock.spark.query.sql.plan_tree import PlanPart, PlanReader
from penstock.spark.query.sql.recomputed import mixed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SAFE = {
    # A relation csv.`/path` would be a file.
    "spark.sql.runSQLOnFiles": "false",
    # Spark would replace ${env:NAME}, ${system:NAME} and ${spark.NAME} in the text.
    "spark.sql.variable.substitute": "false",
}
"""Settings of Spark while the text of a connector is parsed and analyzed."""
_COLUMN = "org.apache.spark.sql.catalyst.expressions.AttributeReference"
_LITERAL = "org.apache.spark.sql.catalyst.expressions.Literal"
_USER_DEFINED = frozenset(
    {
        "org.apache.spark.sql.catalyst.expressions.ApplyFunctionExpression",
        "org.apache.spark.sql.catalyst.expressions.PythonUDF",
        "org.apache.spark.sql.catalyst.expressions.PythonUDAF",
        "org.apache.spark.sql.catalyst.expressions.ScalaUDF",
        "org.apache.spark.sql.catalyst.expressions.objects.Invoke",
        "org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke",
        "org.apache.spark.sql.execution.aggregate.ScalaAggregator",
        "org.apache.spark.sql.hive.HiveGenericUDF",
        "org.apache.spark.sql.hive.HiveGenericUDTF",
        "org.apache.spark.sql.hive.HiveSimpleUDF",
        "org.apache.spark.sql.hive.HiveUDAFFunction",
    }
)
"""Classes of functions that are not Spark's own, for those that the worker's operator allows."""


@dataclass(frozen=True, slots=True)
class _FunctionOptions:
    """Positions of the arguments of a function that are more than values."""

    format: str | None = None
    options: int | None = None
    schema: int | None = None


@dataclass(frozen=True, slots=True)
class _Lists:
    """The contents of ``allowed.toml``; names of functions in lower case, of classes with their packages."""

    functions: frozenset[str]
    tables: frozenset[str]
    refused: dict[str, str]
    classes: dict[str, frozenset[str]]
    """By the kind of a part of a plan."""
    options: dict[str, _FunctionOptions]


@functools.cache
def lists() -> _Lists:
    """Read ``allowed.toml``."""
    given = tomllib.loads((files(__package__) / "allowed.toml").read_text("utf-8"))
    classes = {
        kind: frozenset(f"{package}.{name}".lstrip(".") for package, names in given[kind].items() for name in names)
        for kind in ("plan", "expression", "value", "type")
    }
    return _Lists(
        frozenset(given["functions"]),
        frozenset(given["table_functions"]),
        given["refused"],
        classes | {"product": classes["value"], "object": classes["value"]},
        {name: _FunctionOptions(**places) for name, places in given["options"].items()},
    )


class SqlSelect:
    """The ``sql`` of one connector. Raises ConfigError if it is not allowed, and Spark's ParseException if it is none.

    ``functions``: those that the worker's operator allows besides Spark's harmless ones; ``options``: patterns of
    options, as ``format.option``. ``once``: whether each batch counts exactly once, so that two computations of it must
    not be mixed.
    """

    def __init__(
        self,
        session: SparkSession,
        sql: str,
        functions: Collection[str] = (),
        options: Collection[str] = (),
        once: bool = False,
    ) -> None:
        self._sql, self._once = sql, once
        self._rules = _Rules(frozenset(map(str.casefold, functions)), tuple(options))
        self._reader = PlanReader(session)
        java: Any = session._jsparkSession
        with _settings(session, SAFE):
            plan = java.sessionState().sqlParser().parsePlan(sql)
        self._refuse(self._rules.of_parsed(self._tree(plan)))
        self._rules.more |= _classes_of(java, self._rules.functions)

    def of(self, records: DataFrame) -> DataFrame:
        """Return the rows that it makes of ``records``, a batch or a stream. Raises ConfigError, and Spark's errors."""
        session = records.sparkSession
        records.createOrReplaceTempView(VIEW)
        with _settings(session, SAFE):
            rows = session.sql(self._sql)
            jrows: Any = rows._jdf
            analyzed = jrows.queryExecution().analyzed()
        tree = self._tree(analyzed)
        self._refuse(self._rules.of_analyzed(tree))
        if self._once:
            self._refuse(mixed(tree), "")
        return rows

    def _tree(self, plan: Any) -> PlanPart:
        try:
            return self._reader.tree(plan)
        except ConnectError as error:
            raise ConfigError("sql", self._sql, str(error)) from None

    def _refuse(
        self, problems: Iterable[tuple[PlanPart, str]], rule: str = f"it must be a SELECT from {VIEW}; "
    ) -> None:
        for part, problem in problems:
            place = f" (line {part.line}, column {part.position + 1})" if part.line > 0 else ""
            raise ConfigError("sql", self._sql, f"{rule}{problem}{place}")


def _metadata_problem(metadata: str) -> str | None:
    """Return why a column of a declared schema may not have this metadata, a JSON object, or None."""
    given = json.loads(metadata)
    if not isinstance(given, dict):
        return "the metadata of a column is no JSON object"
    others = sorted(set(given) - METADATA)
    if not others:
        return None
    return f"a column of a schema has {others[0]}, and may have a name, a type and a comment only"


@contextmanager
def _settings(session: SparkSession, values: dict[str, str]) -> Iterator[None]:
    before = {name: session.conf.get(name, None) for name in values}
    for name, value in values.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, known in before.items():
            if known is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, known)


def _classes_of(java: Any, functions: Collection[str]) -> frozenset[str]:
    """Return the classes of functions that the operator allows, as Spark's registry of functions knows them."""
    if not functions:
        return frozenset()
    state = java.sessionState()
    found = set(_USER_DEFINED)
    for registry in (state.functionRegistry(), state.tableFunctionRegistry()):
        known = registry.listFunction().iterator()
        while known.hasNext():
            identifier = known.next()
            if str(identifier.funcName()).casefold() in functions:
                found.add(str(registry.lookupFunction(identifier).get().getClassName()))
    return frozenset(found)


Problem = tuple[PlanPart, str]


@dataclass(slots=True)
class _Rules:
    functions: frozenset[str] = frozenset()
    options: tuple[str, ...] = ()
    more: frozenset[str] = field(default_factory=frozenset)
    """Further classes of plans and expressions, those of ``functions``."""

    def of_parsed(self, plan: PlanPart) -> Iterator[Problem]:
        """Yield what is not allowed in a parsed plan: also by the names of relations and functions."""
        yield from self._of_all(plan)
        yield from _of_relations(plan)
        for part in plan.all():
            match part.name:
                case "UnresolvedFunction" | "UnresolvedGenerator":
                    yield from self._of_function(part, lists().functions)
                case "UnresolvedTableValuedFunction":
                    yield from self._of_function(part, lists().tables)

    def of_analyzed(self, plan: PlanPart) -> Iterator[Problem]:
        yield from self._of_all(plan)

    def _of_all(self, plan: PlanPart) -> Iterator[Problem]:
        allowed = lists().classes
        exempt = self._exempt(plan)
        for part in plan.all():
            if id(part) in exempt:
                continue
            match part.kind:
                case "plan" | "expression" | "tree" | "type" | "product" | "object":
                    known = allowed.get(part.kind, frozenset())
                    if part.class_name.rstrip("$") not in known and part.class_name not in self.more:
                        yield part, f"{part.name} is not allowed"
                    if part.kind == "expression" and part.class_name != _COLUMN:
                        yield from _of_columns(part)
                case "view" if part.value.casefold() != VIEW:
                    yield part, f"there is {part.value} in it"
                case "map":
                    yield from self._of_map(part)
                case "class":
                    yield part, f"{part.class_name} is not allowed"

    def _exempt(self, plan: PlanPart) -> set[int]:
        """Return the fields of functions that the operator allows, but for plans and expressions in them."""
        found: set[int] = set()
        waiting = [each for part in plan.all() if part.class_name in self.more for each in part.parts]
        while waiting:
            part = waiting.pop()
            if part.kind not in ("plan", "expression") and id(part) not in found:
                found.add(id(part))
                waiting.extend(part.parts)
        return found

    def _of_map(self, part: PlanPart) -> Iterator[Problem]:
        """A map of texts is one of options, whose names have to be those of some function."""
        for name, value in zip(part.parts[::2], part.parts[1::2], strict=False):
            if name.kind == value.kind == "text" and not any(
                places.format is not None and is_option(places.format, name.value, self.options)
                for places in lists().options.values()
            ):
                yield part, f"the option {name.value} is not allowed"

    def _of_function(self, part: PlanPart, allowed: Collection[str]) -> Iterator[Problem]:
        name = _name_of(part.parts[0])
        if name not in allowed and name not in self.functions:
            why = lists().refused.get(name)
            yield part, f"the function {name} is not allowed" + ("" if why is None else f": it {why}")
        places = lists().options.get(name)
        if places is None:
            return
        arguments = part.parts[1].parts
        if any(each.name == "NamedArgumentExpression" for each in arguments):
            yield part, f"{name} has to be called without names of arguments"
        if places.schema is not None and len(arguments) > places.schema:
            yield from self._of_schema(name, arguments[places.schema])
        if places.options is not None and places.format is not None:
            for argument in arguments[places.options :]:
                yield from self._of_options(name, places.format, argument)

    def _of_schema(self, function: str, part: PlanPart) -> Iterator[Problem]:
        """Spark computes the schema while it analyzes a statement, so it has to be known without."""
        text = _literal_text(part)
        if text is not None:
            if (problem := _schema_problem(text)) is not None:
                yield part, f"the schema of {function} is not allowed: {problem}"
        elif not (
            part.name == "UnresolvedFunction"
            and _name_of(part.parts[0]).startswith("schema_of_")
            and part.parts[1].parts
            and _literal_text(part.parts[1].parts[0]) is not None
        ):
            yield part, f"the schema of {function} has to be a text, or schema_of_… of a text"

    def _of_options(self, function: str, format: str, part: PlanPart) -> Iterator[Problem]:
        texts = None
        if part.name == "UnresolvedFunction" and _name_of(part.parts[0]) == "map":
            texts = [_literal_text(each) for each in part.parts[1].parts]
        if texts is None or None in texts:
            yield part, f"the options of {function} have to be a map of texts, as in map('mode', 'FAILFAST')"
            return
        for name in texts[::2]:
            if not is_option(format, name or "", self.options):
                known = ", ".join(options_of(format))
                yield (
                    part,
                    f"the option {name} of {function} is not allowed; allowed are {known}, and with {format}. before "
                    f"them those of `{OPTIONS_ALLOWED}` of the worker",
                )


def _of_relations(plan: PlanPart) -> Iterator[Problem]:
    """Yield the relations that are no rows of the batch at their place: neither the view nor a WITH before them."""
    waiting = [(plan, frozenset({VIEW}))]
    seen: set[int] = set()
    while waiting:
        part, tables = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if part.name == "UnresolvedRelation":
            name = ".".join(each.value for each in part.parts[0].parts)
            if len(part.parts[0].parts) != 1 or name.casefold() not in tables:
                yield part, f"there is {name} in it"
            if any(each.kind == "map" and each.parts for each in part.parts):
                yield part, f"{name} has options"
        inside = [(each, tables) for each in part.parts]
        if part.name == "UnresolvedWith":
            inside = []
            recursive = any(each.kind == "number" and each.value == "true" for each in part.parts)
            for query in (each for field in part.parts if field.kind == "list" for each in field.parts):
                if query.kind == "list" and query.parts and query.parts[0].kind == "text":
                    name = query.parts[0].value.casefold()
                    inside.append((query, tables | {name} if recursive else tables))
                    tables |= {name}
            inside += [(each, tables) for each in part.parts if each.kind != "list"]
            inside += [(each, tables) for each in part.parts if each.kind == "list"]
        waiting.extend(reversed(inside))


def _of_columns(part: PlanPart) -> Iterator[Problem]:
    """Yield the columns in a type of this expression that are more than a name, a type and a comment."""
    waiting = [each for each in part.parts if each.kind == "type"]
    while waiting:
        each = waiting.pop()
        if each.kind == "metadata" and (problem := _metadata_problem(each.value)):
            yield part, problem
        if each.kind in ("type", "list"):
            waiting.extend(each.parts)


def _name_of(part: PlanPart) -> str:
    """Return the name of a function in lower case, without the schema of functions that are built in."""
    parts = [part] if part.kind == "text" else [each for each in part.all() if each.kind == "text"]
    name = ".".join(each.value for each in parts).casefold()
    return name.removeprefix("system.").removeprefix("builtin.")


def _literal_text(part: PlanPart) -> str | None:
    if part.class_name == _LITERAL and part.parts and part.parts[0].kind == "text":
        return part.parts[0].value
    return None


def _schema_problem(schema: str) -> str | None:
    """Return why a schema may not be used: only in JSON a type can be a class to load."""
    text = schema.strip()
    if not text.startswith(("{", "[", '"')):
        return None
    try:
        waiting = [json.loads(text, object_pairs_hook=_once)]
    except (ValueError, RecursionError) as error:
        return f"it is no JSON ({error})"
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if part.get("type") == "udt" or part.keys() & {"class", "pyClass", "sqlType"}:
                return "it has a type that is defined by a class"
            if problem := _metadata_problem(json.dumps(part.get("metadata") or {})):
                return problem
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is there twice")
    return found
