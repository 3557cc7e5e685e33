"""A server in memory that speaks MongoDB's protocol."""

from __future__ import annotations

import json
import os
import subprocess

from hosts.plugins import HERE
from penstock.embedded.java import java
from penstock.hosts.jvm.build import jar_of
from support.jars import listed, require

SERVER = HERE / "jars" / "mongo-server.jars"
CLIENT = HERE / "jars" / "mongo.jars"


class Mongo:
    """A process; ``documents`` are what a collection has."""

    def __init__(self) -> None:
        """Skips the test if its jars can't be had."""
        require(SERVER)
        require(CLIENT)
        used = listed(SERVER) + listed(CLIENT)
        own = jar_of(HERE / "java" / "mongo-server", "test-mongo-server", used)
        command = [java().executable, "-Xmx64m", "-cp", os.pathsep.join(map(str, [own, *used]))]
        self._process = subprocess.Popen(
            [*command, "penstock.tests.MongoInMemory"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.address = self._line()

    def documents(self, collection: str) -> list[dict[str, object]]:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{collection}\n")
        self._process.stdin.flush()
        return [json.loads(line) for line in iter(self._line, ".")]

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        assert line, "the server has ended"
        return line

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()
