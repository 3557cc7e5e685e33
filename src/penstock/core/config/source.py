"""Settings that every source connector has, and the checks of several of them together: topic creation (KIP-158),
exactly once (KIP-618), its own offsets topic, and a dead letter queue.

Java: ``SourceConnectorConfig``. The dead letter queue, ``penstock.errors.deadletterqueue.*``, is Penstock's own: its
settings are defined only where one of them is given, so that all other answers about settings are Java's. The rules of
``topic.creation.*`` settings are in ``topic_creation``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, cast

from penstock.api.config import ConfigType, ConfigValue, Importance, Width
from penstock.api.connector import Connector, ConnectorTransactionBoundaries, ExactlyOnceSupport, SourceConnector
from penstock.api.validators import CaseInsensitiveValidString, Described, NonEmptyString, at_least
from penstock.core.config.catalog import Kind
from penstock.core.config.connector import TOLERANCE, unique_aliases
from penstock.core.config.setting import RuntimeSetting
from penstock.core.config.sink import dead_letter_settings
from penstock.core.topic_creation.draft import check_draft
from penstock.core.topic_creation.rules import RULES, Compile

log = logging.getLogger(__name__)

Props = Mapping[str, str | None]

TOPIC_CREATION = "Topic Creation"
EXACTLY_ONCE = "Exactly Once Support"

TOPIC_CREATION_GROUPS = "topic.creation.groups"
EXACTLY_ONCE_SUPPORT = "exactly.once.support"
TRANSACTION_BOUNDARY = "transaction.boundary"
TRANSACTION_INTERVAL = "transaction.boundary.interval.ms"
OFFSETS_TOPIC = "offsets.storage.topic"
OWN_ERRORS = "penstock.errors."
DEAD_LETTER_TOPIC = f"{OWN_ERRORS}deadletterqueue.topic.name"
DEAD_LETTER_COPIES = f"{OWN_ERRORS}deadletterqueue.topic.replication.factor"
DEAD_LETTER_CONTEXT = f"{OWN_ERRORS}deadletterqueue.context.headers.enable"
DEAD_LETTERS = (DEAD_LETTER_TOPIC, DEAD_LETTER_COPIES, DEAD_LETTER_CONTEXT)


def _at_least_zero_or_null(name: str, value: Any) -> None:
    if value is not None:
        at_least(0)(name, value)


def has_dead_letters(props: Props) -> bool:
    """Whether the source has a dead letter queue."""
    return bool((props.get(DEAD_LETTER_TOPIC) or "").strip())


def check_source_dead_letters(props: Props, values: dict[str, ConfigValue], source: bool) -> None:
    """Add the errors of the dead letter queue's settings to the validated values."""
    for name in props:
        if name.startswith(OWN_ERRORS) and not (source and name in DEAD_LETTERS):
            value = values.setdefault(name, ConfigValue(name, props[name]))
            value.add_error(_unknown_setting(name, source))
    if source and has_dead_letters(props) and not values[TOLERANCE].errors and values[TOLERANCE].value != "all":
        values[DEAD_LETTER_TOPIC].add_error(
            f"'{DEAD_LETTER_TOPIC}' needs '{TOLERANCE}=all': otherwise the first record that fails ends the task, "
            "and comes again"
        )


def _unknown_setting(name: str, source: bool) -> str:
    if source:
        topic, copies, context = DEAD_LETTERS
        return f"There is no setting '{name}'; there are '{topic}', '{copies}' and '{context}'"
    return f"'{name}' is for source connectors; for sinks it is '{name.removeprefix('penstock.')}'"


def check_source(
    props: Props, values: dict[str, ConfigValue], connector: Connector, exactly_once: bool | None, compile: Compile
) -> None:
    """Add the errors of topic creation's draft rules (KIP-158) and of exactly once (KIP-618) to the validated values.

    Java: ``DistributedHerder.validateSourceConnectorConfig``. The connector is asked what it supports where that
    matters. ``exactly_once``: whether the worker has it enabled; None in standalone mode, where it is not checked.
    """
    source = cast(SourceConnector, connector)
    given = cast(Mapping[str, str], props)
    for problem in check_draft(props, compile):
        values.setdefault(problem.name, ConfigValue(problem.name, problem.value)).errors.extend(problem.errors)
    if exactly_once is None:
        return
    support, boundary = values[EXACTLY_ONCE_SUPPORT], values[TRANSACTION_BOUNDARY]
    if not support.errors and str(support.value).lower() == "required":
        if not exactly_once:
            support.add_error("This worker does not have exactly-once source support enabled.")
        _ask(support, lambda: _exactly_once_problem(source, given))
    if not boundary.errors and str(boundary.value).lower() == "connector":
        _ask(boundary, lambda: _boundary_problem(source, given))


def _ask(value: ConfigValue, question: Callable[[], str | None]) -> None:
    """Add the problem that the connector's own method returns, or its failure."""
    try:
        problem = question()
    except Exception as error:
        log.exception("The connector failed while it was asked about %s", value.name)
        message = str(error).strip()
        details = f": {message}" if message else "; please see the worker logs for more details."
        problem = f"An unexpected error occurred during validation{details}"
    if problem:
        value.add_error(problem)


def _exactly_once_problem(connector: SourceConnector, props: Mapping[str, str]) -> str | None:
    match connector.exactly_once_support(props):
        case None:
            return (
                "The connector does not implement the API required for preflight validation of exactly-once source "
                "support. Please consult the documentation for the connector to determine whether it supports "
                "exactly-once semantics, and then consider reconfiguring the connector to use the value "
                '"requested" for this property (which will disable this preflight check and allow the connector to be '
                "created)."
            )
        case ExactlyOnceSupport.SUPPORTED:
            return None
    return "The connector does not support exactly-once semantics with the provided configuration."


def _boundary_problem(connector: SourceConnector, props: Mapping[str, str]) -> str | None:
    answer: ConnectorTransactionBoundaries | None = connector.can_define_transaction_boundaries(props)
    if answer is ConnectorTransactionBoundaries.SUPPORTED:
        return None
    if answer is None:
        return (
            "This connector has returned a null value from its canDefineTransactionBoundaries method, which is not "
            "permitted. The connector will be treated as if it cannot define its own transaction boundaries, and "
            "cannot be configured with 'transaction.boundary' set to 'connector'."
        )
    return (
        "The connector does not support connector-defined transaction boundaries with the given configuration. "
        "Please reconfigure it to use a different transaction boundary definition."
    )


SOURCE_SETTINGS = (
    RuntimeSetting(
        name=TOPIC_CREATION_GROUPS,
        type=ConfigType.LIST,
        default=[],
        validator=unique_aliases("topic creation group"),
        importance=Importance.LOW,
        documentation="Groups of configurations for topics created by source connectors",
        group=TOPIC_CREATION,
        order=1,
        width=Width.LONG,
        display_name="Topic Creation Groups",
        kinds=(Kind.SOURCE,),
    ),
    RuntimeSetting(
        name=EXACTLY_ONCE_SUPPORT,
        type=ConfigType.STRING,
        default="requested",
        validator=CaseInsensitiveValidString("requested", "required"),
        importance=Importance.MEDIUM,
        documentation="`required` refuses the connector unless it says that it can be exactly once, so configured, and "
        "the worker has exactly-once support for sources enabled; `requested` makes no such check.",
        group=EXACTLY_ONCE,
        order=2,
        width=Width.SHORT,
        display_name="Exactly once support",
        kinds=(Kind.SOURCE,),
    ),
    RuntimeSetting(
        name=TRANSACTION_BOUNDARY,
        type=ConfigType.STRING,
        default="poll",
        validator=CaseInsensitiveValidString("poll", "interval", "connector"),
        importance=Importance.MEDIUM,
        documentation="Where transactions end: `poll` after every batch that a task gives, `interval` after a time, "
        "`connector` where the connector's tasks say, if they can.",
        group=EXACTLY_ONCE,
        order=3,
        width=Width.SHORT,
        display_name="Transaction Boundary",
        kinds=(Kind.SOURCE,),
    ),
    RuntimeSetting(
        name=TRANSACTION_INTERVAL,
        type=ConfigType.LONG,
        default=None,
        validator=Described(_at_least_zero_or_null, str(at_least(0))),
        importance=Importance.LOW,
        documentation="With `transaction.boundary=interval`: how many milliseconds a transaction lasts. "
        "By default the worker's `offset.flush.interval.ms`.",
        group=EXACTLY_ONCE,
        order=4,
        width=Width.SHORT,
        display_name="Transaction boundary interval",
        kinds=(Kind.SOURCE,),
    ),
    RuntimeSetting(
        name=OFFSETS_TOPIC,
        type=ConfigType.STRING,
        default=None,
        validator=NonEmptyString(),
        importance=Importance.LOW,
        documentation="A topic of this connector's own for its offsets, made if it is missing on the cluster that "
        "the connector writes to. By default the worker's. Of no effect in standalone mode.",
        group="offsets.topic",
        order=1,
        width=Width.LONG,
        display_name="Offsets topic",
        kinds=(Kind.SOURCE,),
    ),
    *dead_letter_settings(
        OWN_ERRORS,
        Kind.SOURCE,
        "The topic for records on which this source's transforms or converters fail. By default there is none.",
        "Replication factor of the dead letter queue's topic, if it must be created.",
        own=True,
    ),
    RuntimeSetting(
        name=RULES,
        type=ConfigType.STRING,
        default=None,
        documentation="Names of rules, separated by commas, for topics that are missing; the spelling of KIP-158's "
        "draft. The first that matches applies. Not together with `topic.creation.groups`.",
        kinds=(Kind.SOURCE,),
        defined=False,
    ),
)
