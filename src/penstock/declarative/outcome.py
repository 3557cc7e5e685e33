"""The outcome of commands: waits until connectors have started again, failed, or are paused, stopped or resumed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from penstock.declarative import rollout
from penstock.http.client import Client
from penstock.http.client_errors import ClientError, LateError, ResourceNotFoundError

_UNDER_WAY = ("RESTARTING", "UNASSIGNED")


def await_restarts(
    worker: Client, names: Iterable[str], wait: float, task: int | None = None
) -> Iterator[tuple[str, bool, str]]:
    """Yield each connector, whether all of it is well, and a sentence; after ``wait`` seconds at most.

    A state counts when it has been the same for ``rollout.SETTLED_S``, since right after the request it may be that of
    before. With ``task`` only that task counts.
    """
    began = time.monotonic()
    seen: dict[str, tuple[float, str]] = {}
    waiting = list(dict.fromkeys(names))
    while waiting:
        for name in list(waiting):
            well, sentence, under_way = _look(worker, name, task)
            now = time.monotonic()
            since, before = seen.get(name, (now, ""))
            if under_way or sentence != before:
                since = now
            seen[name] = since, sentence
            late = now - began >= wait
            if late or (not under_way and now - since >= rollout.SETTLED_S):
                yield name, well, f"after {wait:g} s {sentence}" if late and under_way else sentence
                waiting.remove(name)
        if waiting:
            time.sleep(rollout.LOOK_S)


def await_target(worker: Client, names: Iterable[str], state: str, wait: float) -> Iterator[tuple[str, bool, str]]:
    """Yield each connector, whether it is in this state with its tasks, and a sentence about what is not.

    ``state`` is RUNNING, PAUSED or STOPPED. Each connector is waited for ``wait`` seconds at most, all at once. A
    connector that stays without tasks for ``rollout.SETTLED_S`` runs without them.
    """
    began = time.monotonic()
    waiting = list(dict.fromkeys(names))
    while waiting:
        for name in list(waiting):
            passed = time.monotonic() - began
            reached, sentence, under_way = _reached(worker, name, state, passed >= rollout.SETTLED_S)
            if under_way and passed >= wait:
                yield name, False, f"after {wait:g} s {sentence}"
            elif not under_way:
                yield name, reached, sentence
            else:
                continue
            waiting.remove(name)
        if waiting:
            time.sleep(rollout.LOOK_S)


def await_stop(worker: Client, name: str, wait: float) -> None:
    """Return when the connector is stopped and has no tasks. Raises LateError after ``wait`` seconds."""
    give_up = time.monotonic() + wait
    while True:
        shown = worker.status(name)
        if shown["connector"]["state"] == "STOPPED" and not shown["tasks"]:
            return
        if time.monotonic() >= give_up:
            found = f"{shown['connector']['state']}, with {len(shown['tasks'])} tasks"
            raise LateError(f"After {wait:g} s connector {name} is not stopped yet ({found})")
        time.sleep(rollout.LOOK_S)


def _reached(worker: Client, name: str, state: str, settled: bool) -> tuple[bool, str, bool]:
    """Return whether the state is reached, a sentence about what is not in it, and whether that may change soon."""
    who = f"connector {name}"
    try:
        shown = worker.status(name)
    except ClientError as error:  # one that is not there has been deleted, and does not come back
        problem = f"the status of {who} can't be read: {str(error).rstrip('.')}"
        return False, problem, not isinstance(error, ResourceNotFoundError)
    parts = [(who, shown["connector"]), *((f"task {each['id']} of {who}", each) for each in shown["tasks"])]
    others = [(who, part) for who, part in parts if part["state"] != state]
    if state == "STOPPED" and not others and shown["tasks"]:
        return False, f"{who} still has {len(shown['tasks'])} tasks", True
    if state == "RUNNING" and not others and not shown["tasks"] and not settled:
        return False, f"{who} has no tasks yet", True
    failed = all(part["state"] == "FAILED" for _, part in others) and state != "STOPPED"
    found = "; ".join(f"{who} is {part['state']}{rollout.cause(part)}" for who, part in others)
    return not others or (failed and state == "PAUSED"), found, bool(others) and not failed


def _look(worker: Client, name: str, task: int | None) -> tuple[bool, str, bool]:
    """Return whether all is well, a sentence, and whether that may change by itself soon."""
    who = f"connector {name}"
    try:
        shown = worker.status(name)
    except ClientError as error:  # one that is not there has been deleted, and does not come back
        problem = f"the status of {who} can't be read: {str(error).rstrip('.')}"
        return False, problem, not isinstance(error, ResourceNotFoundError)
    parts: list[tuple[str, Mapping[str, Any]]] = [(who, shown["connector"])] if task is None else []
    parts += [(f"task {each['id']} of {who}", each) for each in shown["tasks"] if task in (None, each["id"])]
    wrong = [(who, part) for who, part in parts if part["state"] in ("FAILED", *_UNDER_WAY)]
    found = "; ".join(f"{who} is {part['state']}{rollout.cause(part)}" for who, part in wrong or parts[:1])
    return not wrong, found, any(part["state"] in _UNDER_WAY for _, part in wrong)
