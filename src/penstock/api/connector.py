"""Connectors, which divide the work into tasks.

The worker that holds a connector makes one object of its class, calls ``start`` and then ``task_configs``, and again
whenever the connector asks by ``context.request_task_reconfiguration()``; ``stop`` at the end. All calls are made on a
thread of the connector's own. Java: ``org.apache.kafka.connect.connector.Connector``, ``SourceConnector`` and
``SinkConnector``.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from penstock.api.check import TargetCheck
from penstock.api.config import ConfigDef, ConfigValue
from penstock.api.kafka import KafkaClients
from penstock.api.plugin_metrics import PluginMetrics
from penstock.api.sink import SinkTask
from penstock.api.source import SourceTask


class ConnectorContext(Protocol):
    """The runtime, as a connector sees it. Its methods may be called from any thread."""

    @property
    def plugin_metrics(self) -> PluginMetrics:
        """The registry of the connector's own metrics (KIP-877)."""

    @property
    def kafka(self) -> KafkaClients:
        """The clients of Kafka clusters that a connector manages itself. Provisional."""

    def request_task_reconfiguration(self) -> None:
        """Ask the runtime to call ``task_configs`` again and to restart the tasks if the answer differs."""

    def raise_error(self, error: BaseException) -> None:
        """Report a failure that needs an operator: the connector becomes FAILED with this error as its trace."""


class Connector:
    """Base of all connectors; derive from SourceConnector or SinkConnector."""

    java_name: ClassVar[str] = ""
    setting_prefixes: ClassVar[tuple[str, ...]] = ()
    """Prefixes of further settings that the connector reads, such as options that it passes on to a library.

    Other settings that nothing defines are warned about when a configuration is validated, and so are names with these
    prefixes that are defined but for one character. With ``""``, for any names, the others are warned about, too, but
    never refused.
    """
    context: ConnectorContext

    @classmethod
    def version(cls) -> str:
        """Return the version that the list of plugins shows."""
        return "unknown"

    @classmethod
    def config_def(cls) -> ConfigDef:
        """The connector's own settings; those that every connector has are added by the runtime."""
        return ConfigDef()

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        """Check settings before they are accepted; called on a separate object that is not started.

        By default every setting is checked on its own, as ``config_def`` says. The REST request waits for the
        result.
        """
        return self.config_def().validate(config)

    def check_target(self, config: Mapping[str, str]) -> TargetCheck:
        """Contact the target of a configuration for `penstock check`, without changing anything. Provisional.

        A generator, see ``penstock.api.check``, on an object that is not started and has no context; what it raises is
        a failed step. By default it yields nothing: the target is not checked. Kafka's side of a connector and its
        converters are checked by the runtime.
        """
        yield from ()

    def start(self, config: Mapping[str, str]) -> None:
        """Start the connector; called once, before ``task_configs``, ``self.context`` being set.

        If it raises, the connector becomes FAILED.
        """

    def task_class(self) -> type[SourceTask] | type[SinkTask]:
        """Return the class of the tasks."""
        raise NotImplementedError(f"{type(self).__qualname__} has no method task_class")

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return one configuration for each task, ``max_tasks`` at most.

        Called after ``start``, and again after each ``request_task_reconfiguration``.
        """
        raise NotImplementedError(f"{type(self).__qualname__} has no method task_configs")

    def stop(self) -> None:
        """Release what the connector holds; called once, at the end, also when ``start`` has failed."""


class ExactlyOnceSupport(enum.Enum):
    """Whether a source connector can be exactly once."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"


class ConnectorTransactionBoundaries(enum.Enum):
    """Whether tasks of a source connector can define where transactions end."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"


class SourceConnector(Connector):
    """Base of connectors that bring records into Kafka."""

    polling_is_harmless: ClassVar[bool] = False
    """Whether starting it and polling a task changes nothing anywhere, so that `penstock preview` may do so."""

    def tasks_for_preview(self, config: Mapping[str, str]) -> list[dict[str, str]] | None:
        """Return configurations of tasks that change nothing anywhere while they are polled, for `penstock preview`.

        For connectors that change something once they have been started. Called on an object that is not started, its
        context being set. None: the connector is started, if ``polling_is_harmless``.
        """
        return None

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport | None:
        """Return whether this connector can be exactly once with this configuration; None if unknown (KIP-618).

        Called on an object that is not started, when ``exactly.once.support`` is ``required``.
        """
        return None

    def can_define_transaction_boundaries(self, config: Mapping[str, str]) -> ConnectorTransactionBoundaries:
        """Return whether its tasks can define transaction boundaries (KIP-618).

        They do so with ``SourceTaskContext.transaction``. Called on an object that is not started, when
        ``transaction.boundary`` is ``connector``.
        """
        return ConnectorTransactionBoundaries.UNSUPPORTED

    def alter_offsets(
        self, config: Mapping[str, str], offsets: list[tuple[dict[str, Any] | None, dict[str, Any] | None]]
    ) -> bool:
        """Check offsets that a user wants to set (KIP-875): pairs of source partition and source offset.

        An offset of None is to be forgotten. Return True if the connector has handled them; after False the user is
        advised to change what the connector keeps elsewhere. Raises ConnectError for offsets that this connector could
        not resume from. Called on an object that is not started.
        """
        return False


class SinkConnector(Connector):
    """Base of connectors that bring records out of Kafka."""

    def alter_offsets(self, config: Mapping[str, str], offsets: dict[tuple[str, int], int | None]) -> bool:
        """Check offsets that a user wants to set, by topic and partition.

        May also change them in the system itself (KIP-875).
        """
        return False
