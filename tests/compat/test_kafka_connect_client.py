"""The Java library kafka-connect-client sees no difference between a Java worker and ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compat.kafka_connect_client import JARS, play
from support.jars import require
from support.worker_process import WorkerProcess

GOLDEN = Path(__file__).parent / "golden" / "kafka-connect-client.json"


@pytest.mark.integration
@pytest.mark.slow
def test_every_verb_gives_what_it_gives_with_java(bootstrap: str, tmp_path: Path) -> None:
    require(JARS)
    with WorkerProcess(bootstrap, tmp_path) as worker:
        assert play(str(worker.http.base_url).rstrip("/")) == json.loads(GOLDEN.read_text())
