"""Settings of Penstock's own: the dead letter queue of a source connector, ``penstock.errors.deadletterqueue.*``.

They are defined only where one of them is given, so that all other answers about settings are Java's. What the settings
of sinks are called without ``penstock.`` is in ``sink.py`` (KIP-298).
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.api.config import ConfigDef, ConfigValue
from penstock.core.config.sink import define_dead_letters

PREFIX = "penstock.errors."
QUEUE = f"{PREFIX}deadletterqueue.topic.name"
COPIES = f"{PREFIX}deadletterqueue.topic.replication.factor"
CONTEXT = f"{PREFIX}deadletterqueue.context.headers.enable"
TOLERANCE = "errors.tolerance"

Props = Mapping[str, str | None]


def uses_queue(props: Props) -> bool:
    """Whether the connector has such a queue."""
    return bool((props.get(QUEUE) or "").strip())


def define_queue(config: ConfigDef, props: Props) -> None:
    """Add the definitions to those of a source connector, if one of the settings is given."""
    if not any(name.startswith(PREFIX) for name in props):
        return
    define_dead_letters(
        config,
        (QUEUE, COPIES, CONTEXT),
        "The topic for records on which this source's transforms or converters fail. By default there is none.",
        "Replication factor of the dead letter queue's topic, if it must be created.",
    )


def check_queue(props: Props, values: dict[str, ConfigValue], source: bool) -> None:
    """Add what is wrong with these settings to the validated values."""
    for name in props:
        if name.startswith(PREFIX) and (not source or name not in (QUEUE, COPIES, CONTEXT)):
            value = values.setdefault(name, ConfigValue(name, props[name]))
            value.add_error(_foreign(name, source))
    if source and uses_queue(props) and not values[TOLERANCE].errors and values[TOLERANCE].value != "all":
        values[QUEUE].add_error(
            f"'{QUEUE}' needs '{TOLERANCE}=all': otherwise the first record that fails ends the task, and comes again"
        )


def _foreign(name: str, source: bool) -> str:
    if source:
        return f"There is no setting '{name}'; there are '{QUEUE}', '{COPIES}' and '{CONTEXT}'"
    return f"'{name}' is for source connectors; for sinks it is '{name.removeprefix('penstock.')}'"
