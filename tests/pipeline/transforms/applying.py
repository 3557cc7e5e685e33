"""Applies a transform with its configuration to a batch."""

from __future__ import annotations

import datetime
from typing import Any

from penstock.api.batch import Batch
from penstock.api.schema import Schema

DAY = datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC)


def applied(transform: Any, batch: Batch, **config: str) -> Batch:
    transform.configure({name.replace("_", "."): value for name, value in config.items()})
    return transform.apply_batch(batch)


def values_of(batch: Batch) -> tuple[Schema | None, list[Any]]:
    assert len({id(schema) for schema in batch.value_schemas}) == 1
    return batch.value_schemas[0], batch.values
