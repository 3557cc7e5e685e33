"""A tap made with the Singer SDK, in a separate environment: killed, and continued from its state."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from penstock.api.errors import ConnectError
from penstock.api.testing import MemoryOffsets, MemorySourceContext
from penstock.connectors.singer.settings import offset_of
from penstock.connectors.singer.source import SingerSourceTask
from penstock.connectors.singer.tap import discover
from penstock.embedded.home import home
from support.machine import missing
from support.waiting import until

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
LOCK = HERE / "sdk.lock"
PATIENCE = 900.0
KILLS, EACH = 10, 9
STATE_EVERY = 7
ROWS = 300


@pytest.fixture(scope="module")
def python() -> Path:
    """Return the Python of an environment with the SDK, which is made once per lock file."""
    folder = home() / "singer-sdk" / hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]
    done, found = folder / "done", folder / "bin" / "python"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        uv = shutil.which("uv")
        make = [uv, "venv", "-q", "-p", sys.executable, folder] if uv else [sys.executable, "-m", "venv", folder]
        fill = [uv, "pip", "install", "-q", "-p", found] if uv else [found, "-m", "pip", "install", "-q"]
        for command in (make, [*fill, "--require-hashes", "-r", LOCK]):
            made = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
            if made.returncode:
                missing(f"The Singer SDK can't be installed here: {made.stderr}")
        done.touch()
    return found


@pytest.fixture
def settings(python: Path, tmp_path: Path) -> dict[str, str]:
    tap = tmp_path / "tap-sqlite"
    tap.write_text((HERE / "sqlite_tap.py").read_text().replace("#!PYTHON", f"#!{python}"))
    tap.chmod(0o755)
    with closing(sqlite3.connect(tmp_path / "shop.db")) as database:
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)")
        database.executemany("INSERT INTO orders VALUES (?, ?)", ((n, f"order {n}") for n in range(ROWS)))
        database.commit()
    given = {"path": str(tmp_path / "shop.db"), "pause": 0.01}
    return {
        "singer.tap": str(tap),
        "singer.config": json.dumps(given),
        "singer.catalog": json.dumps(incremental(discover(str(tap), given))),
        "topic.prefix": "shop-",
        "poll.interval.ms": "0",
        "batch.max.rows": "4",
    }


def incremental(catalog: dict[str, Any]) -> dict[str, Any]:
    """Edit the catalog as a user does: read new rows by ``id``."""
    (stream,) = catalog["streams"]
    how = {"selected": True, "replication-method": "INCREMENTAL", "replication-key": "id"}
    for each in stream["metadata"]:
        if each["breadcrumb"] == []:
            each["metadata"] |= how
    return {"streams": [stream | {"replication_method": "INCREMENTAL", "replication_key": "id"}]}


class Reader:
    """Keeps the records and the last offset that Kafka would have."""

    def __init__(self, settings: dict[str, str]) -> None:
        self.settings, self.ids, self.state = settings, list[int](), None

    def start(self) -> SingerSourceTask:
        known = [] if self.state is None else [({"tap": "tap-sqlite"}, offset_of(self.state))]
        task = SingerSourceTask()
        task.context = MemorySourceContext(self.settings, MemoryOffsets(known))
        task.start(self.settings)
        return task

    def poll(self, task: SingerSourceTask) -> bool:
        batch = task.poll()
        if batch is None:
            return False
        assert set(batch.topics) == {"shop-main-orders"}
        assert [value["note"] for value in batch.values] == [f"order {value['id']}" for value in batch.values]
        self.ids += [value["id"] for value in batch.values]
        self.state = json.loads(batch.origin.offsets[-1]["state"])  # type: ignore[union-attr, index, arg-type]
        return True

    def until_killed(self, count: int) -> None:
        """Read until the tap is killed after ``count`` records; records that it has written by then still arrive."""
        before = len(self.ids)
        task = self.start()
        try:
            give_up = time.monotonic() + PATIENCE
            while len(self.ids) < before + count:  # without a pause: the tap keeps writing
                assert time.monotonic() < give_up, "some records"
                self.poll(task)
            os.kill(task._runs._tap._process.pid, signal.SIGKILL)  # type: ignore[union-attr]
            with pytest.raises(ConnectError, match="The tap has ended with status -9"):
                until(lambda: self.poll(task) and False, "its end", PATIENCE)
        finally:
            task.stop()

    def until_last(self) -> None:
        task = self.start()
        try:
            until(lambda: self.poll(task) and self.ids[-1] == ROWS - 1, "the last record", PATIENCE)
        finally:
            task.stop()


def test_killed_at_ten_points_it_loses_nothing(settings: dict[str, str]) -> None:
    reader = Reader(settings)
    begins = []
    for kill in range(KILLS):
        reader.until_killed(EACH + kill)
        begins.append(len(reader.ids))
    reader.until_last()
    runs = [reader.ids[begin:end] for begin, end in pairwise([0, *begins, len(reader.ids)])]
    assert all(ids == list(range(ids[0], ids[-1] + 1)) for ids in runs), "none is left out within a run"
    again = [earlier[-1] + 1 - later[0] for earlier, later in pairwise(runs)]
    assert len(again) == KILLS
    assert min(again) >= 0, "none is left out between runs"
    assert max(again) <= STATE_EVERY + 1, "only records since the last state are read again"
