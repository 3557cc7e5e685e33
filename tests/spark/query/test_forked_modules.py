"""Modules imported before a query's processes are forked."""

from __future__ import annotations

import os
import subprocess
import sys

from penstock.spark.daemon import FORK_WITH
from penstock.spark.query.shared import MODULES

BATCH = """
import sys
from penstock.spark import daemon
daemon.import_everything()
daemon.import_more()
before = set(sys.modules)
import pyarrow as pa
from penstock.spark.query.sink.rows.columns import columns_of
from penstock.spark.query.sink.rows.plan import RowPlan
from penstock.spark.query.sink.rows.row_maker import RowMaker, raw_batch
headers = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
arrow = pa.record_batch({
    "key": pa.array([None], pa.binary()), "value": pa.array([b"v"]), "topic": pa.array(["t"]),
    "partition": pa.array([0], pa.int32()), "offset": pa.array([0]), "headers": pa.array([None], headers),
    "timestamp": pa.array([0], pa.timestamp("us", "UTC")), "timestampType": pa.array([0], pa.int32()),
})
batch = raw_batch(arrow)
rows = RowMaker(RowPlan(columns_of(None, bytes).json(), False, (), "UTC", tombstones=False)).rows(batch, None)
assert rows.num_rows == 1, rows
print(*sorted(set(sys.modules) - before))
"""


def test_a_batch_imports_neither_pandas_nor_anything_else_that_takes_time() -> None:
    environment = {**os.environ, FORK_WITH: MODULES}
    made = subprocess.run([sys.executable, "-c", BATCH], capture_output=True, text=True, check=False, env=environment)
    assert made.returncode == 0, made.stderr
    assert {name.partition(".")[0] for name in made.stdout.split()} <= {"pyarrow"}
