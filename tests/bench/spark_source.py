"""Copies of a Parquet table to a topic as JSON: by SparkSource, and by a plain job (``df.write.format("kafka")``).

SparkSource runs on a separate worker without exactly once, like the plain job. Figures count from the first visible
row.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from bench.connect import JSON, CaseError, Connect
from bench.setting import Setting
from bench.watch import Watch
from support.worker_process import SPARKS_JAVA, WorkerProcess

FILES = 8
COLUMNS = "id BIGINT, user STRING, amount DOUBLE, ts BIGINT, note STRING"
_CASE = "spark-source"

Figures = dict[str, float]


def by_connector(_: Connect, setting: Setting) -> Figures:
    return copy(setting.resource("at least once", lambda: _worker(setting)), setting)


def copy(cluster: Connect, setting: Setting) -> Figures:
    """Copy with SparkSource on a worker without exactly once."""
    table: Path = setting.resource("table", lambda: _table(setting))
    name = setting.name(_CASE)
    topic = setting.create_topic(name)
    config = {
        "connector.class": "penstock.connectors.SparkSource",
        "topic": topic,
        "path": str(table),
        "schema": COLUMNS,
        "checkpoint.location": str(setting.folder / "checkpoints"),
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
    }
    watch = Watch(setting.records, lambda: cluster.check(name))
    cluster.put(name, config)
    try:
        _wait(setting, topic, watch)
    finally:
        cluster.delete(name)
    return _checked(setting, "SparkSource", topic, watch)


def by_program(setting: Setting) -> Figures:
    return copy_plainly(setting, "local[2]")


def copy_plainly(setting: Setting, master: str, cores: int = 2) -> Figures:
    """Copy with a plain job. ``cores``: maximum number of a cluster's cores."""
    table: Path = setting.resource("table", lambda: _table(setting))
    topic = setting.create_topic(setting.name("plain"))
    log = setting.folder / f"{topic}.log"
    command = [
        sys.executable,
        "-m",
        "bench.plain_source",
        setting.bootstrap,
        topic,
        str(table),
        COLUMNS,
        master,
        str(cores),
    ]
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as job:

        def check() -> None:
            if job.poll():
                raise CaseError(f"{_CASE}: the plain job has ended:\n{log.read_text()[-2000:]}")

        watch = Watch(setting.records, check)
        try:
            _wait(setting, topic, watch)
        finally:
            job.terminate()
    return _checked(setting, "the plain job", topic, watch)


def _wait(setting: Setting, topic: str, watch: Watch) -> None:
    consumer = setting.consumer("read_uncommitted")
    try:
        while not watch.sees(setting.end(consumer, topic)):
            time.sleep(0.01)
    finally:
        consumer.close()


def _checked(setting: Setting, who: str, topic: str, watch: Watch) -> Figures:
    setting.same(_CASE, who, setting.values(topic))
    setting.delete_topics(topic)
    return {"records/s": watch.rate, "seconds": watch.seconds}


def _worker(setting: Setting) -> Connect:
    more = {SPARKS_JAVA: "", "exactly.once.source.support": "disabled"}
    worker = WorkerProcess(setting.bootstrap, setting.folder, **more)
    worker.__enter__()
    topics = [worker.settings[f"{kind}.storage.topic"] for kind in ("config", "offset", "status")]
    setting.at_end(lambda: setting.delete_topics(*topics))
    setting.at_end(lambda: worker.__exit__())
    return Connect("penstock", str(worker.http.base_url))


def _table(setting: Setting) -> Path:
    import pyarrow as pa
    import pyarrow.json
    import pyarrow.parquet as parquet

    folder = setting.folder / "table"
    folder.mkdir()
    types = pa.schema(
        {"id": pa.int64(), "user": pa.string(), "amount": pa.float64(), "ts": pa.int64(), "note": pa.string()}
    )
    options = pyarrow.json.ParseOptions(explicit_schema=types)
    rows = pyarrow.json.read_json(setting.lines(), parse_options=options)
    size = -(-setting.records // FILES)
    for number in range(FILES):
        parquet.write_table(rows.slice(number * size, size), folder / f"{number}.parquet")
    return folder
