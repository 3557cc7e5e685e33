"""Connectors on the plugin's side: questions to their classes, and the one that runs."""

from __future__ import annotations

import functools
from typing import Any, assert_never

from penstock.api.connector import Connector
from penstock.api.returned import task_configs
from penstock.hosts.python.messages import (
    AskConnector,
    CallDefinition,
    MakePluginTaskConfigs,
    ReadDefinition,
    StartPluginConnector,
    StopPluginConnector,
)
from penstock.hosts.python.peer import PluginPeer
from penstock.hosts.python.serving.contexts import RemoteConnectorContext, RemoteMetrics
from penstock.hosts.python.serving.definitions import Definition
from penstock.hosts.python.serving.discovery import named


def answer(question: ReadDefinition | CallDefinition | AskConnector, args: tuple[Any, ...]) -> Any:
    """Answer a question to a class, or to an object made for it."""
    match question:
        case ReadDefinition(target):
            return _definition(target).document
        case CallDefinition(target, number, method):
            return getattr(_definition(target).foreign[number], method)(*args)
        case AskConnector(target, method):
            return getattr(named(target)(), method)(*args)
        case _:
            assert_never(question)


@functools.cache
def _definition(target: str) -> Definition:
    return Definition.of(named(target))


class ConnectorSide:
    """The connector of this process."""

    def __init__(self, peer: PluginPeer) -> None:
        self._context = RemoteConnectorContext(peer, RemoteMetrics(peer))
        self._connector: Connector | None = None
        self.metrics = self._context.plugin_metrics

    def answer(self, message: StartPluginConnector | MakePluginTaskConfigs | StopPluginConnector) -> Any:
        """Carry out a message to the connector."""
        match message:
            case StartPluginConnector(target, config):
                self._connector = named(target)()
                self._connector.context = self._context
                self._connector.start(config)
            case MakePluginTaskConfigs(max_tasks):
                assert self._connector is not None
                return task_configs(self._connector.task_configs(max_tasks))
            case StopPluginConnector():
                if self._connector is not None:
                    self._connector.stop()
            case _:
                assert_never(message)
        return None
