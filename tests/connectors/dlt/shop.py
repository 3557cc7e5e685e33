"""A shop, as authors of sources for dlt write one: `orders` come in the order of their numbers, `visits` in any."""

import os
import time
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import dlt

BEGIN = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)


@dlt.source
def shop(to=6, page=2, log=None, pause=0.0, words=None, start="closed"):
    if log is not None:
        with open(log, "a") as file:
            file.write(f"{os.getpid()} {sorted(os.environ)}\n")

    @dlt.resource(
        primary_key="id",
        columns={"price": {"data_type": "decimal", "precision": 10, "scale": 2}, "at": {"data_type": "timestamp"}},
    )
    def orders(number=dlt.sources.incremental("id", row_order="asc", range_start=start)):
        begin = number.last_value or 0
        for first in range(begin, to, page):
            print("a page")
            yield [
                {"id": each, "price": str(each / 2), "at": (BEGIN + timedelta(hours=each)).isoformat(), "tags": ["x"]}
                for each in range(first, min(first + page, to))
            ]
            time.sleep(pause)
        if words is not None:
            raise ValueError(words)

    @dlt.resource
    def visits(day=dlt.sources.incremental("day", initial_value=date(2026, 1, 1))):
        for each in reversed(range(to)):
            yield {"number": each, "day": date(2026, 1, 1) + timedelta(days=each), "guest": each % 2 == 0}

    return orders, visits


@dlt.resource(table_name=lambda row: f"kind_{row['kind']}")
def things(secret: str = dlt.secrets.value):
    yield {"kind": 1, "size": 1, "secret": secret}
    yield [
        {"kind": 1, "size": "2", "raw": b"\x00\xff", "share": Decimal("0.125")},
        {"kind": 1, "size": "tall"},
        {"kind": 2},
    ]


@dlt.resource
def measures(nested=False):
    yield [{"n": 1.5}, {"n": float("nan")}, {"n": float("-inf")}]
    if nested:
        yield {"n": 1.5, "more": [float("inf")]}


def plain():
    return [1]
