"""Random chains of Kafka's own transforms and predicates with records for them, always the same for the same seed.

Each transform is configured for what the steps before it have made of the first record, so that most of a chain has an
effect; the other records have the same schema, or any.
"""

from __future__ import annotations

from typing import Any

from penstock.api.batch import Batch
from pipeline.transforms.golden import corpus
from pipeline.transforms.golden.corpus import R, chance
from pipeline.transforms.notation import read_batch, write_batch
from support.tasks.runs import resolve

Json = Any
TRANSFORMS = "org.apache.kafka.connect.transforms."
PREDICATES = {
    "topics": {"type": f"{TRANSFORMS}predicates.TopicNameMatches", "pattern": "(orders|t-).*"},
    "h1": {"type": f"{TRANSFORMS}predicates.HasHeaderKey", "name": "h1"},
    "new": {"type": f"{TRANSFORMS}predicates.HasHeaderKey", "name": "new"},
    "tombstones": {"type": f"{TRANSFORMS}predicates.RecordIsTombstone"},
}
MOST = 5
RECORDS = 6


def random_chain(seed: int) -> tuple[dict[str, str], list[Json]]:
    """Return the configuration of a chain, and records in the golden files' notation, all of a source or of a sink."""
    R.seed(seed)
    config = {"predicates": ",".join(PREDICATES)}
    config |= {f"predicates.{alias}.{name}": value for alias, own in PREDICATES.items() for name, value in own.items()}
    pair, on_key = corpus.data(), chance(0.2)
    first = corpus.record(pair, on_key)
    aliases: list[str] = []
    now = first
    for number in range(R.randrange(1, MOST + 1)):
        alias = f"{number}"
        own, after = _step(now)
        aliases.append(alias)
        config |= {f"transforms.{alias}.{name}": value for name, value in own.items()}
        now = after or now
    records = [first, *(_another(first, on_key) for _ in range(RECORDS - 1))]
    return {**config, "transforms": ",".join(aliases)}, records


def _step(record: Json) -> tuple[dict[str, str], Json]:
    """Return a valid transform for this record, and the record that it makes, if any."""
    while True:
        name = R.choice([*corpus.CONFIGS])
        part = "key" if name.endswith("$") and chance(0.25) else "value"
        own = {"type": TRANSFORMS + name + (part.capitalize() if name.endswith("$") else "")}
        own |= corpus.CONFIGS[name](record[part])
        if name == "Filter" or chance(0.35):
            own |= {"predicate": R.choice([*PREDICATES]), "negate": R.choice(["true", "false"])}
        try:
            transform = resolve("transformation", own["type"])()
            transform.configure({name: value for name, value in own.items() if name not in ("predicate", "negate")})
        except Exception:
            continue
        try:
            return own, write_batch(transform.apply_batch(read_batch(record)))
        except Exception:
            if chance(0.7):
                continue
            return own, None


def _another(first: Json, on_key: bool) -> Json:
    """Return a record besides the first one."""
    schema, _ = first["key" if on_key else "value"]
    pair = corpus.data()
    if chance(0.75):
        pair = [schema, corpus.item_of(schema) if schema is not None else corpus.a_map(2)]
    elif chance(0.3):
        pair = [R.choice([None, schema and {**schema, "optional": True}]), None]
    record = corpus.record(pair, on_key)
    if chance(0.5):
        part = "value" if on_key else "key"
        record[part] = first[part]
    if chance(0.3):
        record["topic"] = first["topic"]
    for _ in range(R.randrange(2)):
        header = corpus.schema_of(2)
        record["headers"].append([R.choice(["h1", "h2", "new"]), header, corpus.item_of(header)])
    of_a_sink = first["offset"] is not None
    record["offset"] = R.randrange(1000) if of_a_sink else None
    record["partition"] = R.choice([0, 7] if of_a_sink else [None, 0, 7])
    return record


def batch_of(records: list[Json]) -> Batch:
    return Batch.concat([read_batch(each) for each in records])
