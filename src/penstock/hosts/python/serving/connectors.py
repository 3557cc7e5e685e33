"""Connectors: questions to their classes, and the one that runs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.api.connector import Connector
from penstock.api.returned import task_configs
from penstock.hosts.python.peer import Peer
from penstock.hosts.python.serving.contexts import ConnectorContext, Metrics
from penstock.hosts.python.serving.definitions import Definition
from penstock.hosts.python.serving.discovery import named


@dataclass(frozen=True, slots=True)
class Questions:
    """Each is asked of a class, or of an object made for it."""

    def answers(self) -> dict[str, Callable[..., Any]]:
        return {"config_def": self.config_def, "config_def.call": self.call, "ask": self.ask}

    @staticmethod
    def config_def(target: str) -> bytes:
        return _definition(target).document

    @staticmethod
    def call(target: str, number: int, method: str, *args: Any) -> Any:
        """Call what could not be sent with a definition: a check or a recommender of the plugin's."""
        return getattr(_definition(target).foreign[number], method)(*args)

    @staticmethod
    def ask(target: str, method: str, *args: Any) -> Any:
        return getattr(named(target)(), method)(*args)


@functools.cache
def _definition(target: str) -> Definition:
    return Definition.of(named(target))


class ConnectorSide:
    """The connector of this process."""

    def __init__(self, peer: Peer) -> None:
        self._context = ConnectorContext(peer, Metrics(peer))
        self._connector: Connector | None = None

    def answers(self) -> dict[str, Callable[..., Any]]:
        return {
            "connector.start": self.start,
            "connector.task_configs": self.task_configs,
            "connector.stop": self.stop,
            "connector.metric": self._context.plugin_metrics.value,
        }

    def start(self, target: str, config: Mapping[str, str]) -> None:
        self._connector = named(target)()
        self._connector.context = self._context
        self._connector.start(config)

    def task_configs(self, most: int) -> list[dict[str, str]]:
        assert self._connector is not None
        return task_configs(self._connector.task_configs(most))

    def stop(self) -> None:
        if self._connector is not None:
            self._connector.stop()
