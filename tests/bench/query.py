"""A case that Java does not have: a topic to Parquet, by SparkSink and by a plain program of Structured Streaming.

Both read the same number of records per batch, and write one column, the value as text.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.connect import CaseError, Connect
from bench.setting import Setting
from bench.watch import Watch

PARTITIONS = 2


def by_connector(cluster: Connect, setting: Setting) -> dict[str, float]:
    name, topic = setting.name("query"), setting.filled_topic(PARTITIONS)
    folder, watch = setting.folder / name, Watch(setting.records, lambda: cluster.check(name))
    cluster.put(
        name,
        {
            "connector.class": "penstock.connectors.SparkSink",
            "topics": topic,
            "format": "parquet",
            "path": str(folder),
            "batch.max.records": str(_batch(setting)),
            "consumer.override.auto.offset.reset": "earliest",
        },
    )
    try:
        _wait(folder, watch)
    finally:
        cluster.delete(name)
    setting.same("query", "SparkSink", _values(folder), unchanged=True)
    return {"records/s": watch.rate}


def by_program(setting: Setting) -> dict[str, float]:
    topic, folder = setting.filled_topic(PARTITIONS), setting.folder / setting.name("plain")
    log = folder.with_suffix(".log")
    command = [sys.executable, "-m", "bench.plain_query", setting.bootstrap, topic, str(folder), str(_batch(setting))]
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as program:

        def check() -> None:
            if program.poll() is not None:
                raise CaseError(f"query: the plain program has ended:\n{log.read_text()[-2000:]}")

        watch = Watch(setting.records, check)
        try:
            _wait(folder, watch)
        finally:
            program.terminate()
    setting.same("query", "the plain program", _values(folder), unchanged=True)
    return {"records/s": watch.rate}


def _batch(setting: Setting) -> int:
    return max(setting.records // 10, 1)


def _wait(folder: Path, watch: Watch) -> None:
    counts: dict[Path, int] = {}
    while not watch.sees(sum(counts.values())):
        for file in files(folder):
            if file not in counts and (count := rows(file)) is not None:
                counts[file] = count
        time.sleep(0.05)


def files(folder: Path) -> Iterator[Path]:
    """Yield the files that readers see: none with a hidden folder or name. Folders may vanish meanwhile."""
    for here, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name[0] not in "._"]
        yield from (Path(here, name) for name in files if name.endswith(".parquet") and name[0] not in "._")


def rows(file: Path) -> int | None:
    """Return the number of rows; None for a file that is still being written."""
    import pyarrow.parquet as parquet
    from pyarrow import ArrowInvalid

    try:
        return int(parquet.read_metadata(file).num_rows)
    except (ArrowInvalid, OSError):
        return None


def _values(folder: Path) -> Iterator[bytes]:
    import pyarrow.parquet as parquet

    for file in files(folder):
        table = parquet.read_table(file, partitioning=None)
        if "value" not in table.column_names:
            raise CaseError(f"{file} has no column `value`, but {table.column_names}")
        for value in table.column("value").to_pylist():
            yield value.encode()
