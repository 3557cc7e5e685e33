"""Random chains of Kafka's transforms and predicates give the same results here as Kafka's code in the JVM.

The order of the members of maps without a schema is that of Java up to 18: since 19 ``new HashMap<>(map)`` begins with
a smaller table for some sizes. With such a Java they are compared without their order.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest

from hosts.chains.random_chains import batch_of, random_chain
from penstock.api.batch import Batch
from penstock.embedded.java import java
from penstock.hosts.jvm.tasks.remote_batch import remote
from penstock.hosts.jvm.tasks.task_jvm import TaskJvm
from penstock.java.numbers import float32, float_text
from penstock.pipeline.chain import Chain
from penstock.pipeline.errors import ErrorHandler, ErrorSettings, RecordFailure
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.trace import causes, headline
from pipeline.transforms.notation import write_batch
from support.tasks.runs import resolve

SEEDS = int(os.environ.get("PENSTOCK_TEST_EXAMPLES", "150"))
SMALLER_TABLES = 19
"""The Java since which a copied HashMap has a smaller table if three quarters of it are just its size (JDK-8281631)."""
BEYOND = "beyond the years 1 to 9999"


def outcome(config: dict[str, str], batch: Batch, tolerate: bool) -> dict[str, Any]:
    """Return the records after the chain, and those that failed with their stages, errors and causes."""
    failures: list[RecordFailure] = []
    chain = Chain.build(config, resolve)
    handler = ErrorHandler(
        ErrorSettings(tolerate), Metrics(lambda values: None, ()), lambda _: False, (failures.append,)
    )
    after, error = handler.run_until(chain.steps, batch)
    chain.close()
    return {
        "records": rows(after),
        "failures": [[each.alias, heads(each.error), rows(each.record)] for each in failures],
        "error": error and heads(error),
    }


def rows(batch: Batch) -> list[Any]:
    return [write_batch(batch.select((row,))) for row in range(len(batch))]


def heads(error: BaseException) -> list[str]:
    return [headline(each) for each in causes(error)]


def text(outcome: dict[str, Any]) -> str:
    """Return the outcome as text, without addresses, the JVM class of maps, and the width of numbers without a
    schema.
    """

    def narrow(found: re.Match[str]) -> str:
        return f'"float": "{float_text(float32(float(found[1])))}"'

    written = re.sub(r"\[B@[0-9a-f]+", "[B@", json.dumps(outcome, ensure_ascii=False, indent=1))
    written = re.sub(r'"float": "(.*?)"', narrow, written)
    written = re.sub(r"java\.lang\.(Byte|Short|Integer)\b", "java.lang.Long", written)
    written = written.replace("java.lang.Float", "java.lang.Double")
    return written.replace("java.util.LinkedHashMap", "java.util.HashMap")


def unordered(value: Any) -> Any:
    """Remove the order of the members of maps from an outcome, also in the texts of errors."""
    match value:
        case {"map": entries}:
            return {"map": sorted(unordered(entries), key=repr)}
        case dict():
            return {key: unordered(item) for key, item in value.items()}
        case list():
            return [unordered(item) for item in value]
        case str() if "{" in value:
            return sorted(re.split(r"[{}, ]+", value))
        case _:
            return value


def same(ours: str, javas: str) -> bool:
    if ours == javas:
        return True
    return java().version >= SMALLER_TABLES and unordered(json.loads(ours)) == unordered(json.loads(javas))


@pytest.mark.parametrize("first", range(0, SEEDS, 50))
def test_random_chains_do_what_they_do_in_java(jvm: TaskJvm, first: int) -> None:
    beyond = 0
    for seed in range(first, first + 50):
        config, records = random_chain(seed)
        for tolerate in (True, False):
            ours = text(outcome(config, batch_of(records), tolerate))
            if BEYOND in ours:  # a java.util.Date has a larger range than a datetime
                beyond += 1
            else:
                javas = text(outcome(config, remote(jvm, batch_of(records)), tolerate))
                assert same(ours, javas), f"seed {seed}: {config}\n{ours}\n{javas}"
    assert beyond < 10
