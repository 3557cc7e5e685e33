"""``tasks.max``: checked when a connector makes its tasks (KIP-1004).

Java checks it again when a task starts, so that one fails that starts after the setting was lowered and before its
connector has made fewer tasks. Here such a task runs until then.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from penstock.api.config_types import ConfigType, parse_type
from penstock.api.errors import ConnectError
from penstock.core.config.connector import TASKS_MAX

log = logging.getLogger(__name__)

_DISALLOWED = (
    "This behaviour should be considered a bug and is disallowed. If necessary, it can be permitted by reconfiguring "
    "the connector with 'tasks.max.enforce' set to false; however, this option will be removed in a future release of "
    "Kafka Connect."
)


class TooManyTasks(ConnectError):
    """More tasks than ``tasks.max``; never retried."""

    java_name = "org.apache.kafka.connect.runtime.TooManyTasksException"


def tasks_max(config: Mapping[str, str]) -> int:
    """Of a configuration without references. Raises ConfigError."""
    return int(parse_type(TASKS_MAX, config.get(TASKS_MAX, "1"), ConfigType.INT))


def check_tasks_max(connector: str, tasks: int, most: int, config: Mapping[str, str]) -> None:
    """Raises TooManyTasks, or warns where ``tasks.max.enforce`` is false."""
    if tasks <= most:
        return
    message = (
        f"The connector {connector} has generated {tasks} tasks, which is greater than {most}, "
        "the maximum number of tasks it is configured to create. "
    )
    if config.get("tasks.max.enforce", "true").strip().lower() != "false":
        raise TooManyTasks(message + _DISALLOWED)
    log.warning("%sThis behaviour should be considered a bug.", message)
