"""A target that knows the batches of a sink's query whose group has lost its offsets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from penstock.spark.query.sink.progress import new_root, offset_of_root, place_of_root
from support.kafka.client import Kafka
from support.spark.host import Hosted
from support.spark.queries import COLUMNS, PLAIN_JSON, Sink, ids, make
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

GONE = "but its group has no offsets: they have expired, or have been deleted otherwise than by REST"


def forget(kafka: Kafka, connector: str) -> None:
    """Delete the group's offsets, as brokers do when they have expired."""
    kafka.delete_group(f"connect-{connector}")


class ResetSink(Sink):
    """A sink whose offsets were reset by a request if it has a ``root``."""

    root = ""

    def more(self) -> dict[str, Any]:
        return {"offsets": ((place_of_root(self.name), offset_of_root(self.root), None),) if self.root else ()}


def test_a_query_does_not_begin_again_unless_a_request_says_so(hosted: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.create_topic(partitions=1)
    with ResetSink(hosted, kafka, topic, tmp_path / "table", schema=COLUMNS) as one:
        one.produce(*make(0, 5))
        one.start()
        one.wait(5)
        one.written(5)
        one.stop()
        forget(kafka, one.name)
        one.start()
        assert GONE in one.failure()
        assert len(one.rows()) == 5
        one.root = new_root()
        one.start()
        assert ids(one.wait(10)) == sorted([*range(5), *range(5)])
        one.written(5)
        one.stop()
        # The request has already taken effect.
        forget(kafka, one.name)
        one.start()
        assert GONE in one.failure()
        assert len(one.rows()) == 10


def test_a_worker_lets_a_query_begin_again_whose_offsets_were_reset(
    bootstrap: str, kafka: Kafka, tmp_path: Path
) -> None:
    topic, table = kafka.create_topic(partitions=1), tmp_path / "table"
    config = {
        **PLAIN_JSON,
        "connector.class": "penstock.connectors.SparkSink",
        "topics": topic,
        "path": str(table),
        "schema": COLUMNS,
    }

    def written(count: int) -> None:
        """Wait for this many rows, and until the group has committed them: a batch in progress would commit later."""

        def look() -> bool:
            try:
                there = table.exists() and ds.dataset(table, format="parquet").count_rows() == count
            except OSError:
                return False  # files are being moved
            return there and kafka.committed("connect-q") == {(topic, 0): 1}

        until(look, f"{count} rows")

    def stop(worker: WorkerProcess) -> None:
        assert worker.http.put("/connectors/q/stop").status_code == 204
        until(lambda: worker.states("q") == ["STOPPED"], "the stop")

    with WorkerProcess(bootstrap, tmp_path) as worker:
        worker.put("q", **{key.replace(".", "__"): value for key, value in config.items()})
        kafka.produce(topic, ['{"id": 1, "name": "a"}'])
        written(1)
        stop(worker)
        forget(kafka, "q")
        worker.http.put("/connectors/q/resume")
        until(lambda: "FAILED" in worker.states("q"), "its refusal")
        assert GONE in worker.get("/connectors/q/status")["tasks"][0]["trace"]
        stop(worker)
        assert worker.http.delete("/connectors/q/offsets").status_code == 200
        worker.http.put("/connectors/q/resume")
        written(2)
