"""A tap on a real worker: allowed by its properties, and continued by the next worker."""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path

import pytest

from support.kafka.client import Kafka
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PATIENCE = 180.0
TAP = Path(__file__).parents[1] / "connectors" / "singer" / "numbers_tap.py"


def test_a_tap_is_continued_by_the_next_worker(bootstrap: str, kafka: Kafka, tmp_path: Path) -> None:
    tap = tmp_path / "tap-numbers"
    tap.write_text(TAP.read_text().replace("#!PYTHON", f"#!{sys.executable}"))
    tap.chmod(0o755)
    prefix = f"singer-{uuid.uuid4().hex[:8]}-"
    topic = kafka.create_topic(f"{prefix}orders")

    def numbers() -> list[int]:
        return [json.loads(value)["id"] for value in kafka.values(topic) if value is not None]

    def config(to: int) -> dict[str, str]:
        return {
            "connector.class": "SingerSource",
            "singer.tap": str(tap),
            "singer.config": json.dumps({"to": to, "every": 4}),
            "singer.streams": "orders",
            "topic.prefix": prefix,
            "poll.interval.ms": "200",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
        }

    worker = WorkerProcess(bootstrap, tmp_path, penstock__singer__taps__allowed=f"{tmp_path}/tap-*")
    with worker:
        refused = worker.http.put("/connectors/shop/config", json=config(8) | {"singer.tap": "/bin/sh"})
        assert refused.status_code == 400
        assert "/bin/sh is not among the executables that `penstock.singer.taps.allowed`" in refused.json()["message"]
        worker.put("shop", **config(8))
        until(lambda: numbers() == list(range(8)), f"eight numbers: {numbers()}", PATIENCE)
        offsets = [{"partition": {"tap": "tap-numbers"}, "offset": {"state": '{"orders":8}'}}]
        until(lambda: worker.get("/connectors/shop/offsets")["offsets"] == offsets, "their offset", PATIENCE)
        worker.kill()
        worker.start().ready()
        worker.put("shop", **config(12))
        until(lambda: len(numbers()) >= 12, f"twelve numbers: {numbers()}", PATIENCE)
        assert numbers() == list(range(12))
