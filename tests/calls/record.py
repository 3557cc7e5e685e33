"""``python -m calls.record``: writes down which calls Java Connect makes.

    PYTHONPATH=tests python -m calls.record
    PYTHONPATH=tests python -m calls.record --bootstrap HOST:PORT --folder DIR --worker distributed=URL …

Without addresses a broker and workers of Java Connect are started. With them the workers, of the kinds "distributed",
"exactly once" and "standalone", must see ``DIR/jars`` in their ``plugin.path`` (``--folder DIR`` alone fills it), and
``offset.flush.interval.ms`` must be 500.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path

import httpx

from calls.cells import Cells
from calls.drive import MODES, WORKERS, Subject, observe
from calls.workers import JAVA, OBSERVED, jar_folder, workers
from penstock.embedded import Broker
from support.kafka.client import Kafka


def record(clients: Mapping[str, httpx.Client], bootstrap: str, folder: Path) -> dict[str, Cells]:
    """Return the cells of all modes for which there is a worker."""
    kafka = Kafka(bootstrap)
    subjects = []
    for mode, (_, worker, _) in MODES.items():
        if worker in clients:
            own = folder / f"p{uuid.uuid4().hex[:8]}"
            own.mkdir(parents=True)
            subjects.append(Subject(mode, clients[worker], JAVA, own, kafka.create_topic(partitions=2)))
    observe(subjects, kafka)
    return {subject.mode: subject.cells() for subject in subjects}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--worker", action="append", default=[], metavar="KIND=URL")
    parser.add_argument("--out", type=Path, default=OBSERVED)
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="calls-"))
    plugins = jar_folder(folder)
    addresses = dict(each.split("=", 1) for each in options.worker)
    if addresses:
        headers = {"bootstrap": options.bootstrap}
        clients = {kind: httpx.Client(base_url=url, headers=headers, timeout=95) for kind, url in addresses.items()}
        version = next(iter(clients.values())).get("/").json()["version"]
        modes = record(clients, options.bootstrap, folder)
    elif options.folder:
        print(f"plugin.path={plugins}")
        return
    else:
        with Broker() as broker, workers("java", broker.bootstrap, folder, str(plugins), WORKERS) as started:
            version = started["distributed"].get("/")["version"]
            clients = {kind: worker.http for kind, worker in started.items()}
            modes = record(clients, broker.bootstrap, folder)
    seen = {"connect": version, "modes": modes}
    options.out.write_text(json.dumps(seen, indent=1, sort_keys=True) + "\n")
    print(f"{options.out}; the calls one by one are in {folder}")


if __name__ == "__main__":
    main()
