"""Checks the setting ``sql``: one SELECT from the view of a batch, and nothing else.

What counts is the plan that Spark's own parser makes of it, before Spark looks anything up or runs anything. Who may
create connectors need not be allowed to run commands on executors, to call methods of Java, or to read other tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from penstock.api.errors import ConfigError
from penstock.spark.query.dataframes import VIEW

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLANS = frozenset(
    {
        *("Project", "Filter", "Aggregate", "Distinct", "Deduplicate", "Sort", "GlobalLimit", "LocalLimit", "Offset"),
        *("LimitAll", "Tail", "Join", "LateralJoin", "Union", "Intersect", "Except", "Sample", "Pivot", "Unpivot"),
        *("Generate", "Expand", "Window", "SubqueryAlias", "UnresolvedSubqueryColumnAliases", "UnresolvedWith"),
        *("UnresolvedHaving", "UnresolvedQualify", "WithWindowDefinition", "UnresolvedHint", "UnresolvedTVFAliases"),
        *("RepartitionByExpression", "Repartition", "OneRowRelation", "LocalRelation", "PipeOperator"),
        *("UnresolvedRelation", "UnresolvedTableValuedFunction", "AsOfJoin", "NearestByJoin"),
        *("UnresolvedOrdinal", "UnresolvedTransposed", "Transpose", "UnresolvedGroupByAll"),
    }
)
"""The kinds of nodes of a SELECT, by their classes in Spark. All others are refused, commands among them."""
GENERATORS = frozenset(
    {
        *("explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer", "stack"),
        *("json_tuple", "range", "variant_explode", "variant_explode_outer"),
    }
)
"""The functions that may stand for a table."""
REFUSED_FUNCTIONS = frozenset({"reflect", "java_method", "try_reflect"})


def check_select(session: SparkSession, sql: str) -> None:
    """Raises ConfigError for a statement that is not allowed, and Spark's ParseException for what is none."""
    jvm: Any = session._jsparkSession
    plan = jvm.sessionState().sqlParser().parsePlan(sql)
    for problem in _problems(plan, frozenset({VIEW})):
        raise ConfigError("sql", sql, f"it must be a SELECT from {VIEW}; {problem}")


def _problems(plan: Any, tables: frozenset[str]) -> Iterator[str]:
    """``tables``: the names that stand for rows of the batch at this place, in lower case."""
    kind = str(plan.getClass().getSimpleName()).rstrip("$")
    if kind not in PLANS:
        yield f"{kind} is not allowed"
        return
    if kind == "UnresolvedRelation":
        name = str(plan.multipartIdentifier().mkString("."))
        if plan.multipartIdentifier().length() != 1 or name.casefold() not in tables:
            yield f"there is {name} in it"
    if kind == "UnresolvedTableValuedFunction" and (name := _function(plan.name())) not in GENERATORS:
        yield f"the function {name} is not allowed"
    for expression in _each(plan.expressions()):
        yield from _of_expression(expression)
    if kind == "WithWindowDefinition":
        for window in _each(plan.windowDefinitions().values()):
            yield from _of_expression(window)
    inner = list(_each(plan.innerChildren()))
    if kind == "UnresolvedWith":
        for query in inner:
            name = str(query.alias()).casefold()
            yield from _problems(query, tables | {name} if plan.allowRecursion() else tables)
            tables |= {name}
        inner = []
    for child in (*inner, *_each(plan.children())):
        yield from _problems(child, tables)


def _of_expression(expression: Any) -> Iterator[str]:
    """Subqueries are not looked into: they are inner children of the plan."""
    kind = str(expression.getClass().getSimpleName())
    if kind == "UnresolvedFunction":
        name = _function(expression.nameParts())
        if name in REFUSED_FUNCTIONS or "." in name:
            yield f"the function {name} is not allowed"
    elif kind in ("ExpressionWithUnresolvedIdentifier", "CallMethodViaReflection"):
        yield f"{kind} is not allowed"
    for child in _each(expression.children()):
        yield from _of_expression(child)


def _function(parts: Any) -> str:
    """Its name in lower case, without the schema of functions that are built in."""
    name = str(parts.mkString(".")).casefold()
    return name.removeprefix("system.").removeprefix("builtin.")


def _each(sequence: Any) -> Iterator[Any]:
    items = sequence.iterator()
    while items.hasNext():
        yield items.next()
