"""Requests to a JVM about a session, and about the worker's plugins: connectors, definitions of settings, config
providers and override policies.
"""

from __future__ import annotations

from typing import Any, Literal

from penstock.hosts.jvm.messages.base import JavaRequest, JavaValue, PluginReference


class SessionOpened(JavaValue, frozen=True):
    """The process ID of the JVM."""

    pid: int


class JvmDescription(JavaValue, frozen=True):
    """State of a JVM: memory in bytes, uptime in milliseconds."""

    pid: int
    java: int
    sessions: int
    used: int
    max: int
    uptime: int


class JavaMetric(JavaValue, frozen=True):
    """A metric of a plugin, registered by KIP-877 or as an attribute of an MBean."""

    name: str
    value: float
    tags: dict[str, str]
    description: str | None = None
    mbean: bool = False


# -- requests to the JVM: the session


class OpenSession(JavaRequest[SessionOpened], tag="open", frozen=True):
    """Begin the session, as the first request of a connection.

    ``name`` is for logs and threads; ``thread`` names the thread of the lane ``task``.

    A session with ``only`` waits for the end of another one with the same text. ``connector`` and ``task`` are tags of
    metrics.
    """

    name: str = "session"
    thread: str | None = None
    only: str | None = None
    connector: str | None = None
    task: int | None = None


class DescribeJvm(JavaRequest[JvmDescription], tag="host.about", frozen=True):
    """Report process, memory and number of sessions; tests use it."""


class SetJavaLogLevels(JavaRequest[None], tag="host.levels", frozen=True):
    """Set levels of loggers, all at the beginning, and each that changes.

    log4j's names of levels, by logger.
    """

    levels: dict[str, str]


class ReadJavaMetrics(JavaRequest[list[JavaMetric]], tag="metrics", frozen=True):
    """Report the metrics that plugins of the session have registered."""


# -- requests to the JVM: plugins of the worker


class ValidatedSetting(JavaValue, frozen=True):
    """The outcome of validating one setting; values are text, as Java Connect's REST API shows them."""

    name: str
    value: str | None
    recommended: list[str | None]
    errors: list[Any]
    visible: bool


class JavaTaskConfigs(JavaValue, frozen=True):
    """The configurations of a connector's tasks, and the class of the tasks."""

    configs: list[Any]
    task_class: str


class ProvidedConfig(JavaValue, frozen=True):
    """The data that a config provider returns, and for how many milliseconds they are valid."""

    data: Any
    ttl: int | None


class CreateJavaConnector(JavaRequest[str | None], tag="connector.create", frozen=True):
    """Make the connector of the session; returns its version."""

    plugin: PluginReference


class ValidateJavaConnector(JavaRequest[list[ValidatedSetting]], tag="connector.validate", frozen=True):
    """Validate a connector configuration by ``Connector.validate``."""

    config: dict[str, str]


class StartJavaConnector(JavaRequest[None], tag="connector.start", frozen=True):
    """Initialize and start the connector."""

    name: str
    config: dict[str, str]


class StopJavaConnector(JavaRequest[None], tag="connector.stop", frozen=True):
    """Stop the connector."""


class MakeJavaTaskConfigs(JavaRequest[JavaTaskConfigs], tag="connector.taskConfigs", frozen=True):
    """Call ``taskConfigs``."""

    max_tasks: int


class AskExactlyOnceSupport(JavaRequest[str | None], tag="connector.exactlyOnceSupport", frozen=True):
    """Call ``exactlyOnceSupport``; returns the enumeration's name, or None."""

    config: dict[str, str]


class AskTransactionBoundaries(JavaRequest[str | None], tag="connector.transactionBoundaries", frozen=True):
    """Call ``canDefineTransactionBoundaries``; returns the enumeration's name, or None."""

    config: dict[str, str]


class AlterJavaOffsets(JavaRequest[bool], tag="connector.alterOffsets", frozen=True):
    """Call ``alterOffsets``; returns its answer.

    ``offsets``: pairs of source partition and offset, or rows of topic, partition and offset.
    """

    config: dict[str, str]
    offsets: list[Any]


class ValidateByDefinition(JavaRequest[list[ValidatedSetting]], tag="definition.validate", frozen=True):
    """Validate settings by the ``ConfigDef`` of a plugin.

    With a ``prefix`` the settings are those of a connector in which the plugin is embedded under it.
    """

    plugin: PluginReference
    prefix: str
    config: dict[str, Any]


class CreateJavaProvider(JavaRequest[None], tag="provider.create", frozen=True):
    """Make and configure the config provider of the session."""

    plugin: PluginReference
    config: dict[str, str]


class ReadProvidedConfig(JavaRequest[ProvidedConfig], tag="provider.get", frozen=True):
    """Call ``ConfigProvider.get``.

    ``keys``: None for all keys of the path.
    """

    path: str
    keys: list[str] | None


class CreateJavaPolicy(JavaRequest[None], tag="policy.create", frozen=True):
    """Make and configure the override policy of the session."""

    plugin: PluginReference
    config: dict[str, str]


class ValidateByPolicy(JavaRequest[list[ValidatedSetting]], tag="policy.validate", frozen=True):
    """Call ``ConnectorClientConfigOverridePolicy.validate``.

    ``client``: producer, consumer or admin.
    """

    client: str
    overrides: dict[str, str | None]
    connector: str | None
    connector_class: str | None
    kind: Literal["source", "sink"]
