"""Time from the start of a worker to the first record in a topic, with new workers of Penstock and Java.

Nothing runs before, but files on disk that a worker leaves after a minute exist.
"""

from __future__ import annotations

import subprocess
import sys
import time

from bench.connect import Connect
from bench.setting import Setting
from bench.watch import Watch
from penstock.spark.driver import class_data
from support.java_worker import JavaWorker
from support.worker_process import SPARKS_JAVA, WorkerProcess


class _JavaConnect(JavaWorker):
    options = ("-Xmx1g", "-XX:+UseSerialGC")


def first_record(cluster: Connect, setting: Setting) -> dict[str, float]:
    """Create a file source as soon as the worker accepts requests, and measure."""
    topic, file = setting.create_topic(setting.name("first-record")), setting.folder / setting.name("first-record")
    file.write_text("one\n")
    worker: WorkerProcess
    if cluster.name == "java":
        worker = _JavaConnect(setting.bootstrap, setting.folder)
    else:
        subprocess.run([sys.executable, "-m", class_data.__name__], check=True, capture_output=True)
        worker = WorkerProcess(setting.bootstrap, setting.folder, **{SPARKS_JAVA: ""})
    config = {"connector.class": "FileStreamSource", "tasks.max": "1", "topic": topic, "file": str(file)}
    consumer = setting.consumer("read_committed", **{"fetch.wait.max.ms": 5})
    started = time.perf_counter()
    with worker:
        started_one = Connect(cluster.name, str(worker.http.base_url))
        answers = time.perf_counter() - started
        try:
            started_one.put(topic, config)
            watch = Watch(1, lambda: started_one.check(topic))
            while not watch.sees(setting.end(consumer, topic)):
                time.sleep(0.01)
            arrived = time.perf_counter() - started
            started_one.delete(topic)
        finally:
            consumer.close()
            started_one.close()
    setting.delete_topics(topic, *(worker.settings[f"{kind}.storage.topic"] for kind in ("config", "offset", "status")))
    return {"s": arrived, "ready s": answers}
