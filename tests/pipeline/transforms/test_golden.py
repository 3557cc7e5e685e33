"""Every transform against Kafka's own: answers of Java 4.3.1 to random questions (see golden/README.md)."""

from __future__ import annotations

import gzip
import json
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from penstock.api.batch import Batch
from penstock.api.columns import Table
from penstock.api.schema import Schema
from penstock.java.text import java_class_name
from penstock.pipeline import transforms
from pipeline.transforms.notation import read_batch, write_batch

GOLDEN = Path(__file__).parent / "golden" / "answers.jsonl.gz"
PACKAGE = "org.apache.kafka.connect.transforms."
CLASSES = {getattr(transforms, name).java_name: getattr(transforms, name) for name in transforms.__all__}


def questions() -> dict[str, list[dict[str, Any]]]:
    by_transform = defaultdict(list)
    with gzip.open(GOLDEN, "rt", encoding="utf-8") as lines:
        for line in lines:
            question = json.loads(line)
            by_transform[question["class"].partition("$")[0]].append(question)
    return by_transform


QUESTIONS = questions()
_batches: dict[int, Batch] = {}


def batch_of(question: dict[str, Any]) -> Batch:
    """Return the record of a question. It is read once, since ``test_nothing_given_is_changed`` shows that none
    changes.
    """
    if (made := _batches.get(id(question))) is None:
        made = _batches[id(question)] = read_batch(question["record"])
    return made


def made(question: dict[str, Any]) -> Any:
    transform = CLASSES[PACKAGE + question["class"]]()
    transform.configure(question["config"])
    return transform


def our_answer(question: dict[str, Any], batch: Batch) -> dict[str, Any]:
    try:
        transform = made(question)
    except Exception as error:
        return {"configure": [java_class_name(type(error)), str(error)]}
    try:
        return {"record": write_batch(transform.apply_batch(batch))}
    except Exception as error:
        return {"apply": [java_class_name(type(error)), str(error)]}


@cache
def answers_for_rows(name: str) -> list[dict[str, Any]]:
    return [our_answer(question, batch_of(question)) for question in QUESTIONS[name]]


def compared(answer: dict[str, Any]) -> str:
    """Return an answer as text, without the addresses that Java prints for arrays of bytes."""
    return re.sub(r"\[B@[0-9a-f]+", "[B@", json.dumps(answer))


@pytest.mark.parametrize("name", QUESTIONS)
def test_answers_are_those_of_java(name):
    wrong, beyond = [], 0
    for question, ours in zip(QUESTIONS[name], answers_for_rows(name), strict=True):
        if "beyond the years 1 to 9999" in str(ours.get("apply")):
            beyond += 1  # a java.util.Date has a larger range than a datetime
        elif compared(ours) != compared(question["answer"]):
            wrong.append({**question, "ours": ours})
    assert not wrong, f"{len(wrong)} of {len(QUESTIONS[name])}: {json.dumps(wrong[0], ensure_ascii=False)}"
    assert beyond < len(QUESTIONS[name]) // 20


def in_columns(batch: Batch) -> Batch:
    """Return the same batch with maps and structs as tables."""

    def table(schema: Schema | None, column: list[Any]) -> list[Any] | Table:
        is_row = column and isinstance(column[0], dict) and column[0] and all(isinstance(key, str) for key in column[0])
        if not is_row or (schema is not None and list(column[0]) != [field.name for field in schema.fields]):
            return column
        return Table(tuple(column[0]), [[value] for value in column[0].values()])

    return batch.with_(keys=table(batch.key_schemas[0], batch.keys), values=table(batch.value_schemas[0], batch.values))


@pytest.mark.parametrize("name", QUESTIONS)
def test_answers_for_columns_are_those_for_rows(name):
    tables = 0
    for question, ours in zip(QUESTIONS[name], answers_for_rows(name), strict=True):
        columns = in_columns(batch_of(question))
        tables += isinstance(columns.key_column, Table) or isinstance(columns.value_column, Table)
        answer = compared(our_answer(question, columns))
        assert answer == compared(ours), json.dumps(question, ensure_ascii=False)
    assert tables


@pytest.mark.parametrize("name", [name for name in QUESTIONS if name != "Filter"])
def test_records_of_a_batch_do_not_influence_each_other(name):
    """Records of different schemas, and nulls, come out of one batch as they come out one by one."""
    tried = 0
    group = QUESTIONS[name]
    for question, other in zip(group, [*group[1:], group[0]], strict=True):
        kind_differs = (question["record"]["offset"] is None) != (other["record"]["offset"] is None)
        if "configure" in question["answer"] or kind_differs:
            continue
        rows = [batch_of(q) for q in (question, other, question, other, other)]
        transform = made(question)
        try:
            apart = [write_batch(transform.apply_batch(row)) for row in rows]
        except Exception as error:
            with pytest.raises(type(error)):
                made(question).apply_batch(Batch.concat(rows))
        else:
            together = made(question).apply_batch(Batch.concat(rows))
            assert [write_batch(together.select([i])) for i in range(len(rows))] == apart
            tried += 1
    assert tried


def test_nothing_given_is_changed():
    for group in QUESTIONS.values():
        for question in group[:100]:
            batch = read_batch(question["record"])
            before = write_batch(batch)
            try:
                made(question).apply_batch(batch)
            except Exception:
                pass
            assert write_batch(batch) == before
