"""``python -m conformance FOLDER [ARGUMENTS OF PYTEST]``, for ``make conformance``: the black-box suite for Connect
clusters in that folder, against a worker with a broker of its own.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from penstock.embedded import Broker
from support.worker_process import WorkerProcess


def main(suite: Path, *arguments: str) -> int:
    """Run the suite and return its exit status."""
    if not (suite / "conftest.py").exists():
        raise SystemExit(
            f"conformance: there is no suite in {suite}; `make conformance CONFORMANCE=FOLDER` tells where it is."
        )
    with tempfile.TemporaryDirectory(prefix="penstock-conformance-") as scratch, Broker() as broker:
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
