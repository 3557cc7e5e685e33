"""Checks of a source connector's configuration beyond single settings: exactly once (KIP-618) and the draft's rules
(KIP-158).

Java: ``DistributedHerder.validateSourceConnectorConfig``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import cast

from penstock.api.config import ConfigValue
from penstock.api.connector import Connector, ConnectorTransactionBoundaries, ExactlyOnceSupport, SourceConnector
from penstock.core.config.rules import WorkerRules
from penstock.core.config.source import EXACTLY_ONCE_SUPPORT, TRANSACTION_BOUNDARY
from penstock.core.topic_creation.draft import check_draft

log = logging.getLogger(__name__)

Props = Mapping[str, str | None]


def check_source(props: Props, values: dict[str, ConfigValue], connector: Connector, worker: WorkerRules) -> None:
    """Add what is wrong to the validated values; asks the connector what it supports where that matters."""
    source = cast(SourceConnector, connector)
    given = cast(Mapping[str, str], props)
    for problem in check_draft(props, worker.compile):
        values.setdefault(problem.name, ConfigValue(problem.name, problem.value)).errors.extend(problem.errors)
    if worker.group_id is None:
        return
    support, boundary = values[EXACTLY_ONCE_SUPPORT], values[TRANSACTION_BOUNDARY]
    if not support.errors and str(support.value).lower() == "required":
        if not worker.exactly_once:
            support.add_error("This worker does not have exactly-once source support enabled.")
        _ask(support, lambda: _exactly_once_problem(source, given))
    if not boundary.errors and str(boundary.value).lower() == "connector":
        _ask(boundary, lambda: _boundary_problem(source, given))


def _ask(value: ConfigValue, question: Callable[[], str | None]) -> None:
    """Add what the connector's own method answers, or how it failed."""
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
