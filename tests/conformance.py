"""``python -m conformance FOLDER [--kafka 4.4] [ARGUMENTS OF PYTEST]``, for ``make conformance``: the black-box suite
for Connect clusters in that folder, against a worker with a broker of its own, of Kafka 4.3 or 4.4.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from penstock.embedded import Broker
from support.kafka.newer_broker import NewerBroker
from support.worker_process import WorkerProcess

BROKERS = {"4.3": Broker, "4.4": NewerBroker}


def main(suite: Path, *arguments: str) -> int:
    """Run the suite and return its exit status."""
    kafka = "4.3"
    if arguments[:1] == ("--kafka",):
        _, kafka, *arguments = arguments  # type: ignore[assignment]
    if not (suite / "conftest.py").exists():
        raise SystemExit(
            f"conformance: there is no suite in {suite}; `make conformance CONFORMANCE=FOLDER` tells where it is."
        )
    with tempfile.TemporaryDirectory(prefix="penstock-conformance-") as scratch, BROKERS[kafka]() as broker:
        folder = Path(scratch)
        folder.chmod(0o755)
        with WorkerProcess(broker.bootstrap, folder, **{"offset.flush.interval.ms": "1000"}) as worker:
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", *arguments]
            return subprocess.run(
                command, cwd=suite, env={**os.environ, **_environment(worker)}, check=False
            ).returncode


def _environment(worker: WorkerProcess) -> dict[str, str]:
    """Environment variables of the suite. With ``SEED_ONLY=1`` the documentation counts where Java behaves
    differently.
    """

    def start(mode: str) -> str:
        return f"{shlex.join([sys.executable, '-m', 'penstock.cli', 'worker', mode])} {{properties}}"

    return {
        "CONNECT_URL": str(worker.http.base_url),
        "BOOTSTRAP": worker.settings["bootstrap.servers"],
        "GROUP_ID": worker.settings["group.id"],
        **{
            f"{kind.upper()}_TOPIC": worker.settings[f"{kind}.storage.topic"] for kind in ("config", "offset", "status")
        },
        "START_WORKER": start("distributed"),
        "START_STANDALONE": start("standalone"),
        "SEED_ONLY": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]).absolute(), *sys.argv[2:]))
