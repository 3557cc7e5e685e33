"""Every verb of the Java library ``org.sourcelab:kafka-connect-client``, played against a Connect worker.

Its classes are called over py4j in a Java of their own; what they return is what Jackson makes of it, comparable.

What a Java worker answers is recorded from the folder ``tests`` by
``python -m compat.kafka_connect_client URL > compat/golden/kafka-connect-client.json``.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from compat.kafka_connect_py import STRING, comparable
from penstock.embedded.java import java
from support.jars import listed
from support.waiting import until

NAME, TOPIC = "sc-source", "sc-topic"
FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
JARS = Path(__file__).with_name("client.jars")
WITH_SPARK = ("py4j-", "httpclient-", "httpcore-", "commons-codec-", "slf4j-api-", "jcl-over-slf4j-")
OURS = ("value.format", "on.origin.changed")
PATIENCE = 900.0


def play(url: str) -> dict[str, Any]:
    """Call the verbs in the order of a connector's life; return the results and exceptions."""
    with tempfile.TemporaryDirectory() as folder, gateway() as jvm:
        client = Client(jvm, url)
        file = Path(folder) / "in.txt"
        file.write_text("one\n")
        config = {"connector.class": FILE_SOURCE, "tasks.max": "1", "file": str(file), "topic": TOPIC}
        config |= {"key.converter": STRING, "value.converter": STRING}
        shown = lambda told: json.loads(json.dumps(told).replace(str(file), "FILE"))  # noqa: E731
        return shown(dict(_verbs(client, config)))


def _verbs(client: Client, config: dict[str, str]) -> Iterator[tuple[str, Any]]:
    said, created = client.said, client.definition(NAME, config)
    yield "getConnectServerVersion", sorted(said("getConnectServerVersion"))
    yield "validateConnectorPluginConfig", shared(said("validateConnectorPluginConfig", client.plugin_config(config)))
    for verb in ("getConnector", "getConnectorConfig", "getConnectorStatus", "getConnectorTasks", "pauseConnector"):
        yield f"{verb} of none", said(verb, NAME)
    yield "addConnector without a class", said("addConnector", client.definition(NAME, {"topic": "t"}))
    yield "addConnector", said("addConnector", created)
    client.wait("RUNNING")
    yield "addConnector again", said("addConnector", created)
    yield "getConnectors", NAME in said("getConnectors")
    for verb in ("getConnector", "getConnectorConfig", "getConnectorStatus", "getConnectorTasks"):
        yield verb, said(verb, NAME)
    shown = client.call("getConnectorsWithExpandedStatus").getStatusForConnector(NAME)
    yield "getConnectorsWithExpandedStatus", client.json(shown)
    shown = client.call("getConnectorsWithExpandedInfo").getDefinitionForConnector(NAME)
    yield "getConnectorsWithExpandedInfo", client.json(shown)
    shown = client.call("getConnectorsWithAllExpandedMetadata").getMappedDefinitions().get(NAME)
    yield "getConnectorsWithAllExpandedMetadata", client.json(shown)
    yield "getConnectorTaskStatus", said("getConnectorTaskStatus", NAME, 0)
    yield "getConnectorTaskStatus of none", said("getConnectorTaskStatus", NAME, 7)
    until(lambda: TOPIC in json.dumps(said("getConnectorTopics", NAME)), "the topic", PATIENCE)
    yield "getConnectorTopics", said("getConnectorTopics", NAME)
    for verb, state in (("pauseConnector", "PAUSED"), ("resumeConnector", "RUNNING"), ("restartConnector", "RUNNING")):
        yield verb, said(verb, NAME)
        client.wait(state)
    yield "restartConnector with tasks", said("restartConnector", client.restart(NAME))
    client.wait("RUNNING")
    yield "restartConnectorTask", said("restartConnectorTask", NAME, 0)
    client.wait("RUNNING")
    yield "restartConnectorTask of none", said("restartConnectorTask", NAME, 7)
    yield "updateConnectorConfig", said("updateConnectorConfig", NAME, client.map({**config, "batch.size": "10"}))
    yield "updateConnectorConfig, wrong", said("updateConnectorConfig", NAME, client.map({**config, "tasks.max": "x"}))
    yield "resetConnectorTopics", said("resetConnectorTopics", NAME)
    yield "getConnectorPlugins", [p for p in said("getConnectorPlugins") if "FileStream" in p["className"]]
    yield "stopConnector", said("stopConnector", NAME)
    yield "deleteConnector", said("deleteConnector", NAME)
    yield "deleteConnector again", said("deleteConnector", NAME)


def shared(judged: dict[str, Any]) -> dict[str, Any]:
    """Return a validation without documentation, which differs, and without settings that Java lacks."""
    judged["configs"] = [each for each in judged["configs"] if each["definition"]["name"] not in OURS]
    for each in judged["configs"]:
        assert each["definition"].pop("documentation")
    return judged


class Client:
    """The library's client for a worker. ``said`` is what a verb returned as JSON has it, or what it raised."""

    def __init__(self, jvm: Any, url: str) -> None:
        self._jvm = jvm
        self._package = jvm.org.sourcelab.kafka.connect.apiclient
        self._client = self._package.KafkaConnectClient(self._package.Configuration(url).useRequestTimeoutInSeconds(95))
        self._mapper = jvm.com.fasterxml.jackson.databind.ObjectMapper()

    def call(self, verb: str, *arguments: Any) -> Any:
        return getattr(self._client, verb)(*arguments)

    def said(self, verb: str, *arguments: Any) -> Any:
        try:
            return self.json(self.call(verb, *arguments))
        except Py4JJavaError as error:
            raised = error.java_exception
            return {"raised": raised.getClass().getSimpleName(), "message": comparable(raised.getMessage())}

    def json(self, returned: Any) -> Any:
        return comparable(json.loads(self._mapper.writeValueAsString(returned)))

    def map(self, given: dict[str, str]) -> Any:
        made = self._jvm.java.util.HashMap()
        for key, value in given.items():
            made.put(key, value)
        return made

    def definition(self, name: str, config: dict[str, str]) -> Any:
        builder = self._package.request.dto.NewConnectorDefinition.newBuilder()
        return builder.withName(name).withConfig(self.map(config)).build()

    def plugin_config(self, config: dict[str, str]) -> Any:
        builder = self._package.request.dto.ConnectorPluginConfigDefinition.newBuilder()
        return builder.withName("FileStreamSourceConnector").withConfig(self.map(config)).build()

    def restart(self, name: str) -> Any:
        return self._package.request.post.PostConnectorRestart(name).withIncludeTasks(True).withOnlyFailed(False)

    def wait(self, state: str) -> None:
        def states() -> list[str]:
            status = self.said("getConnectorStatus", NAME)
            return [part["state"] for part in [status.get("connector", {"state": ""}), *status.get("tasks", [])]]

        until(lambda: states() == [state, state], f"{state}: {states()}", PATIENCE)


@contextmanager
def gateway() -> Iterator[Any]:
    """Start a JVM with the library, and end it after this block."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    found = sorted((Path(spec.origin).parent / "jars").glob("*.jar"))
    own: Callable[[Path], bool] = lambda jar: jar.name.startswith(WITH_SPARK)  # noqa: E731
    classpath = os.pathsep.join(map(str, [*listed(JARS), *filter(own, found)]))
    port = launch_gateway(classpath=classpath, java_path=str(java().executable), die_on_exit=True)
    opened = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    try:
        yield opened.jvm
    finally:
        opened.shutdown()


if __name__ == "__main__":
    print(json.dumps(play(sys.argv[1]), indent=1, sort_keys=True))
