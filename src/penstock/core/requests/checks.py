"""What requests ask of the state before they change anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.model import messages as m
from penstock.core.model.flow import Flow, Until

if TYPE_CHECKING:
    from penstock.core.herder import Herder


def settled(herder: Herder) -> Flow:
    """Go on when no rebalance is due; 409 if one takes too long."""
    try:
        yield Until(herder.settled, herder.settings.patience_ms, "")
    except TimeoutError:
        raise m.Refused(
            409,
            "Cannot complete request momentarily due to stale configuration "
            "(typically caused by a concurrent config change)",
        ) from None


def known(herder: Herder, name: str, message: str = "Connector {} not found") -> dict[str, str]:
    """The connector's configuration; Refused with 404 and this message if there is no such connector."""
    connector = herder.state.connectors.get(name)
    if connector is None:
        raise m.Refused(404, message.format(name))
    return connector.config
