"""Every verb of kafka-connect-py's command ``kc``, played against a Connect worker: what it prints, made comparable.

What a Java worker answers is recorded from the folder ``tests`` by
``python -m compat.kafka_connect_py URL > compat/golden/kafka-connect-py.json``.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

NAME, TOPIC = "kc-source", "kc-topic"
PATIENCE = 900.0
FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
STRING = "org.apache.kafka.connect.storage.StringConverter"


def play(url: str) -> dict[str, Any]:
    """Run the verbs in the order of a connector's life; return exit statuses and output."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "in.txt"
        file.write_text("one\n")
        config = {
            "connector.class": FILE_SOURCE,
            "tasks.max": "1",
            "file": str(file),
            "topic": TOPIC,
            "key.converter": STRING,
            "value.converter": STRING,
        }
        kc = Client(url, folder)
        told: dict[str, Any] = {"info": sorted(kc.run("info")["out"])}
        # The command sends a text where an object belongs, which no worker takes: Java answers 500, Penstock 400.
        told["validate"] = kc.run("validate-config", "FileStreamSource", "-d", json.dumps(config))["status"]
        told["create"] = kc.run("create", "-d", json.dumps({"name": NAME, "config": config}))
        kc.wait("RUNNING")
        told["create again"] = kc.run("create", "-d", json.dumps({"name": NAME, "config": config}))
        for verb in ("get", "config", "status", "list-tasks"):
            told[verb] = kc.run(verb, NAME)
        told["list"] = NAME in kc.run("list")["out"]
        told["list pattern"] = kc.run("list", "--pattern", "kc-.*")
        told["task-status"] = kc.run("task-status", NAME, "0")
        told["list-topics"] = kc.until(lambda: kc.run("list-topics", NAME), lambda r: TOPIC in json.dumps(r))
        told["pause"] = kc.run("pause", NAME)
        kc.wait("PAUSED")
        told["resume"] = kc.run("resume", NAME)
        kc.wait("RUNNING")
        told["restart"] = without_states(kc.run("restart", NAME))
        kc.wait("RUNNING")
        told["restart with tasks"] = without_states(kc.run("restart", NAME, "--include-tasks"))
        kc.wait("RUNNING")
        told["restart-task"] = kc.run("restart-task", NAME, "0")
        kc.wait("RUNNING")
        told["update"] = kc.run("update", NAME, "-d", json.dumps({**config, "batch.size": "10"}))
        told["reset-topics"] = kc.run("reset-topics", NAME)
        told["list-plugins"] = [p for p in kc.run("list-plugins")["out"] if "FileStream" in p["class"]]
        told["delete"] = kc.run("delete", NAME)
        kc.until(lambda: kc.run("status", NAME), lambda r: "RUNNING" not in json.dumps(r))
        for verb in ("get", "config", "pause", "restart", "delete"):
            told[f"{verb} of none"] = kc.run(verb, "kc-nobody")
        return told


class Client:
    def __init__(self, url: str, folder: str) -> None:
        self.url, self.folder = url, folder
        self.command = [sys.executable, "-c", "from kafka_connect.cli import cli; cli()", "--url", url]

    def run(self, *words: str) -> dict[str, Any]:
        command = [*self.command, *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
        text = done.stdout.replace(self.folder, "FOLDER").replace(self.url, "URL")
        try:
            out = json.loads(text)
        except ValueError:
            out = text.strip()
        return {"status": done.returncode, "out": comparable(out)}

    def wait(self, state: str) -> None:
        self.until(
            lambda: self.run("status", NAME)["out"],
            lambda s: isinstance(s, dict) and [x["state"] for x in [s["connector"], *s["tasks"]]] == [state, state],
        )

    def until(self, look: Any, good: Any) -> Any:
        give_up = time.monotonic() + PATIENCE
        while not good(seen := look()):
            assert time.monotonic() < give_up, f"not within {PATIENCE} s; last seen: {seen}"
            time.sleep(0.25)
        return seen


def comparable(value: Any) -> Any:
    """Remove addresses and traces, which differ from worker to worker."""
    if isinstance(value, dict):
        return {k: "WORKER" if k in ("worker_id", "workerId") else comparable(v) for k, v in sorted(value.items())}
    if isinstance(value, list):
        return [comparable(each) for each in value]
    if isinstance(value, str):
        return re.sub(r"http://127\.0\.0\.1:\d+", "URL", value)
    return value


def without_states(shown: Any) -> Any:
    """Remove states from the output: right after a restart the command may show any of them."""
    if isinstance(shown, dict):
        varying = ("state", "trace", "version")
        return {k: without_states(v) for k, v in shown.items() if k not in varying}
    return [without_states(each) for each in shown] if isinstance(shown, list) else shown


if __name__ == "__main__":
    print(json.dumps(play(sys.argv[1]), indent=1))
