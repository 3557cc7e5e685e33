"""What ``penstock.restart.policy`` has done and will do about a connector or a task, as status and metrics show it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from penstock.core.restart_policy import RestartPolicy


def described(policy: RestartPolicy, connector: str, task: int | None) -> dict[str, Any] | None:
    """The field ``restart_policy`` of the status; None where the policy is ``never``. Called from any thread."""
    outlook = policy.outlook(connector, task)
    if outlook is None:
        return None
    due = outlook.next_restart_ms
    shown = None if due is None else datetime.fromtimestamp(due / 1000, UTC).isoformat(timespec="milliseconds")
    return {"restarts": outlook.restarts, "next_restart": shown, "reason": outlook.reason}


def metrics(policy: RestartPolicy, connector: str, task: int | None) -> Iterator[tuple[str, float]]:
    """Names and values; nothing where the policy is ``never``. Called from any thread."""
    outlook = policy.outlook(connector, task)
    if outlook is not None:
        yield "penstock-policy-restarts", outlook.restarts
        yield "penstock-next-restart-timestamp", outlook.next_restart_ms or 0
