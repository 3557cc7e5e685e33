"""The command-line client kafka-connect-py sees no difference between a Java worker and ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compat.kafka_connect_py import play
from support.worker_process import WorkerProcess

GOLDEN = Path(__file__).parent / "golden" / "kafka-connect-py.json"


@pytest.mark.integration
def test_every_verb_gives_what_it_gives_with_java(bootstrap: str, tmp_path: Path) -> None:
    with WorkerProcess(bootstrap, tmp_path) as worker:
        assert play(str(worker.http.base_url).rstrip("/")) == json.loads(GOLDEN.read_text())
