"""The Java library kafka-connect-client sees no difference between a Java worker and Penstock's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from compat.kafka_connect_client import JARS
from support.jars import require
from support.worker_process import WorkerProcess

GOLDEN = Path(__file__).parent / "golden" / "kafka-connect-client.json"


@pytest.mark.integration
@pytest.mark.slow
def test_every_verb_gives_what_it_gives_with_java(bootstrap: str, tmp_path: Path) -> None:
    require(JARS)
    with WorkerProcess(bootstrap, tmp_path) as worker:
        played = played_against(str(worker.http.base_url).rstrip("/"))
        assert without_confluents(played) == json.loads(GOLDEN.read_text())


def played_against(url: str) -> Any:
    """Return the result of every verb, run in a separate process: a Spark session changes py4j's errors in its
    process.
    """
    command = [sys.executable, "-m", "compat.kafka_connect_client", url]
    played = subprocess.run(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, check=True)
    return json.loads(played.stdout)


def without_confluents(answer: Any) -> Any:
    """Remove Confluent's converters from the recommended values: Java's cluster had none of them."""
    match answer:
        case dict():
            return {key: without_confluents(value) for key, value in answer.items()}
        case list():
            kept = [value for value in answer if not (isinstance(value, str) and value.startswith("io.confluent."))]
            return [without_confluents(value) for value in kept]
    return answer
