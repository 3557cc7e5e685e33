"""Converters, Values and Java's dialects against Java itself: its answers to the cases of golden/make_cases.py."""

from __future__ import annotations

import base64
import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from penstock.api.errors import KafkaError
from pipeline.converters.notation import answer, chain, without_sizes

GOLDEN = Path(__file__).parent / "golden" / "answers.jsonl.gz"


def answers() -> dict[str, list[dict[str, Any]]]:
    by_operation = defaultdict(list)
    with gzip.open(GOLDEN, "rt", encoding="utf-8") as lines:
        for line in lines:
            found = json.loads(line)
            case = found["case"]
            by_operation[f"{case['op']} {case.get('converter', '').rpartition('.')[2]}".strip()].append(found)
    return by_operation


ANSWERS = answers()


def without_places(message: str | None) -> str:
    """Jackson's complaints but for the line and column."""
    return (message or "").split("\n at ")[0]


def compared(node: Any) -> Any:
    match node:
        case {"error": message}:
            return {"error": without_places(message)}
        case list():
            return [compared(item) for item in node]
    return without_sizes(node)


def difference(found: dict[str, Any]) -> Any:
    """None, or what Java answered and what we did."""
    case = found["case"]
    try:
        ours = answer(case)
    except KafkaError as error:
        ours_failed = chain(error)
        if "error" not in found:
            return found["answer"], ours_failed
        java = [[name, without_places(message)] for name, message in found["error"]]
        mine = [[name, without_places(message)] for name, message in ours_failed]
        same = java[0] == mine[0] and (not java[1:] or "Serialization" not in java[1][0] or java[1] == mine[1])
        return None if same else (java, mine)
    if "error" in found:
        return found["error"], ours
    if case["op"] == "header":
        return dropped_rests(case, found["answer"], ours)
    exactly = case["op"] in ("from", "string", "text", "to") and found["answer"] == ours
    return None if exactly or compared(found["answer"]) == compared(ours) else (found["answer"], ours)


def dropped_rests(case: dict[str, Any], java: list[Any], ours: list[Any]) -> Any:
    """Compare the values of headers one by one: where Java returns the beginning of a text and drops the rest,
    the text itself is right (docs/differences.md).
    """
    for value, expected, found in zip(case["values"], java, ours, strict=True):
        if compared(expected) == compared(found):
            continue
        raw = base64.b64decode(value)
        parts = [base64.b64encode(raw[:i]).decode() for i in range(1, len(raw))]
        whole = found["value"] == {"t": "string", "v": raw.decode()}
        if not whole or compared(expected) not in compared(answer({**case, "values": parts})):
            return expected, found
    return None


@pytest.mark.parametrize("operation", ANSWERS)
def test_answers_equal_java_s(operation):
    wrong = [(found["case"], both) for found in ANSWERS[operation] if (both := difference(found)) is not None]
    assert not wrong, f"{len(wrong)} of {len(ANSWERS[operation])}, first: {wrong[0]}"
