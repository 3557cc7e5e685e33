"""Parts of a statement whose result may be another one when Spark computes it again.

Spark computes a part of a batch again after the loss of an executor or of a process. Where a batch is written or sent
exactly once, each partition of its result counts once, as one computation made it: a task's files are committed once,
and rows that were sent are compared. So ``uuid()`` of each row, or a LIMIT at the end, may differ. What may not: values
or rows that differ and are then moved between partitions, or read twice. One partition could then be of the first
computation and the next one of the second, and a row would be in both or in neither.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.spark.query.sql.plan_tree import PlanPart

_MOVE_ROWS = {
    "Aggregate": "a GROUP BY or an aggregate",
    "AsOfJoin": "a join",
    "Deduplicate": "a DISTINCT",
    "Distinct": "a DISTINCT",
    "Except": "an EXCEPT",
    "GlobalLimit": "a LIMIT",
    "Intersect": "an INTERSECT",
    "Join": "a join",
    "LateralJoin": "a join",
    "NearestByJoin": "a join",
    "Offset": "an OFFSET",
    "Pivot": "a PIVOT",
    "RebalancePartitions": "a hint",
    "Repartition": "a hint",
    "RepartitionByExpression": "DISTRIBUTE BY or a hint",
    "Sort": "an ORDER BY",
    "Tail": "a LIMIT",
    "Transpose": "a transposition",
    "UnionLoop": "a recursive query",
    "Window": "a window",
}
"""Nodes whose input is moved between partitions, as users know them."""
_MOVE_BY = {
    "Aggregate": (0,),
    "AsOfJoin": range(100),
    "Join": range(100),
    "LateralJoin": range(100),
    "NearestByJoin": range(100),
    "RebalancePartitions": (0,),
    "RepartitionByExpression": (0,),
    "Sort": (0,),
    "Window": (1, 2),
}
"""Positions of the fields by which nodes move rows; others are computed from what was moved."""
_LIMITS = {"GlobalLimit": "LIMIT", "Offset": "OFFSET", "Tail": "LIMIT"}
_KEEP_ORDER = frozenset(
    {"Filter", "Generate", "GlobalLimit", "LocalLimit", "Offset", "Project", "SubqueryAlias", "Tail"}
)
_ROW_BY_ROW = frozenset({"InputFileBlockLength", "InputFileBlockStart", "InputFileName", "RaiseError"})
"""Expressions that Spark does not compute in advance, but whose result for a row is always the same."""
_BY_ORDER = {
    "AnyValue": "any_value",
    "ApproximatePercentile": "percentile_approx",
    "CollectList": "collect_list",
    "CollectSet": "collect_set",
    "First": "first",
    "HistogramNumeric": "histogram_numeric",
    "KllSketchAggBigint": "kll_sketch_agg_bigint",
    "KllSketchAggDouble": "kll_sketch_agg_double",
    "KllSketchAggFloat": "kll_sketch_agg_float",
    "Last": "last",
    "ListAgg": "listagg",
}
"""Aggregates whose result depends on the order of the rows, as their functions are called."""
_NUMBER_ROWS = {"Lag": "lag", "Lead": "lead", "NTile": "ntile", "NthValue": "nth_value", "RowNumber": "row_number"}
_SORTED = frozenset({"ArraySort", "SortArray"})
_QUERIES = frozenset({"Exists", "LateralSubquery", "ListQuery"})


@dataclass(frozen=True, slots=True)
class _Place:
    """Surroundings of a part in its plan."""

    moved: str = ""
    """The part above that moves or reads the rows of this one again; empty: none."""
    above: str = ""
    """The same with the plan around the part, for what is below that."""
    ordered: bool = False
    """Whether it is in a window with an order."""
    inner: bool = False
    """Whether it is the only argument of a function that sorts."""


def mixed(plan: PlanPart) -> Iterator[tuple[PlanPart, str]]:
    """Yield parts of an analyzed plan whose results may differ and are moved or read again, and sentences on them."""
    named = {part.parts[1].value: part.parts[0] for part in plan.all() if part.name == "CTERelationDef"}
    uses = Counter(part.parts[0].value for part in plan.all() if part.name == "CTERelationRef")
    waiting, seen = [(plan, _Place())], set()
    while waiting:
        part, place = waiting.pop()
        if (id(part), place) in seen or part.name == "CTERelationDef":
            continue
        seen.add((id(part), place))
        if place.moved and (name := _differs(part, place)):
            yield (
                part,
                f"{name} may give another result when Spark computes a part of a batch again, and {place.moved} reads "
                "it, so that a row could be in the result twice or not at all. Where a batch counts exactly once it "
                "may only be at the end of the statement, or needs an order",
            )
        if part.name == "CTERelationRef":
            query = part.parts[0].value
            moved = place.moved or ("more than one part of the statement" if uses[query] > 1 else "")
            if query in named:
                waiting.append((named[query], _Place(moved, moved)))
            continue
        waiting.extend((each, _below(part, i, place)) for i, each in reversed(list(enumerate(part.parts))))


def _below(part: PlanPart, i: int, place: _Place) -> _Place:
    """Return the place of the part number ``i`` of ``part``, which is at ``place``."""
    each = part.parts[i]
    if part.kind == "plan":
        moves = _MOVE_ROWS.get(part.name, "")
        if part.name == "LocalLimit" and place.above == _MOVE_ROWS["GlobalLimit"]:
            moves = ""
        above = place.moved or moves
        moved = above if each.kind == "plan" or i in _MOVE_BY.get(part.name, ()) else place.moved
        return _Place(moved, above)
    if each.kind == "plan" and part.name in _QUERIES:
        return _Place("a subquery", "a subquery")
    if each.kind == "plan" and part.name == "ScalarSubquery" and len(part.parts) > 1 and part.parts[1].parts:
        return _Place("a subquery", "a subquery")
    ordered = place.ordered or (part.name == "WindowExpression" and _window_order(part))
    inner = part.name in _SORTED or (part.name == "AggregateExpression" and place.inner)
    return _Place(place.moved, place.above, ordered, inner)


def _differs(part: PlanPart, place: _Place) -> str:
    """Return the name of what may give another result, or an empty string."""
    if part.kind == "plan":
        if part.name == "Sample":
            return "TABLESAMPLE"
        if part.name in _LIMITS and not _sorted(part):
            return f"{_LIMITS[part.name]} without ORDER BY"
        return ""
    if part.kind != "expression" or part.name in _ROW_BY_ROW:
        return ""
    if part.name in _NUMBER_ROWS:
        return "" if place.ordered else f"{_NUMBER_ROWS[part.name]}() without an order"
    if part.name == "AesEncrypt":
        return "aes_encrypt()" if _random_iv(part) else ""
    if part.name in _BY_ORDER:
        listed = part.name == "ListAgg" and any(not _constant(each) for each in part.parts[2].parts)
        return "" if place.ordered or place.inner or listed else f"{_BY_ORDER[part.name]}() without an order"
    return f"{part.value.lower()}()" if part.value else ""


def _sorted(part: PlanPart) -> bool:
    """Return whether the rows of a LIMIT have an order, or are one row."""
    while part.name in _KEEP_ORDER:
        below = next((each for each in part.parts if each.kind == "plan"), None)
        if below is None:
            return False
        part = below
    match part.name:
        case "Sort":
            return any(not _constant(each) for each in part.parts[0].parts)
        case "Aggregate":
            return not part.parts[0].parts
    return part.name == "OneRowRelation"


def _window_order(part: PlanPart) -> bool:
    """Return whether the rows of a window have an order."""
    for spec in part.parts:
        if spec.name == "WindowSpecDefinition":
            return any(not _constant(each) for each in spec.parts[1].parts)
    return False


def _constant(part: PlanPart) -> bool:
    """Return whether an order is the same for all rows."""
    return not any(each.name in ("AttributeReference", "OuterReference") for each in part.all())


def _random_iv(part: PlanPart) -> bool:
    """Return whether the function makes up an initialization vector."""
    arguments = [each for each in part.parts if each.kind == "expression"]
    mode, iv = (next((one.value for one in each.all() if one.kind == "text"), None) for each in arguments[2:6:2])
    return (mode or "").upper() != "ECB" and iv == ""
