"""The outcome of commands: waits until connectors have started again, failed, or are paused, stopped or resumed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from penstock.declarative import rollout
from penstock.http.client import Client
from penstock.http.client_errors import ClientError, LateError, ResourceNotFoundError, WorkerError

_UNDER_WAY = ("RESTARTING", "UNASSIGNED")
MIN_LOOK_S = 1.0
"""Seconds for the last answer of a worker, also if the wait is over before."""
MAX_AT_ONCE = 64
"""Connectors that are waited for at the same time."""

Outcome = tuple[str, bool | None, str]
"""A connector, whether all is well, and a sentence. None: that is not known, since its status may not be seen."""


class _UnseenError(Exception):
    """The status of a connector may not be seen; the text says why."""


def await_restarts(worker: Client, names: Iterable[str], wait: float, task: int | None = None) -> Iterator[Outcome]:
    """Yield each connector, whether all of it is well, and a sentence; after ``wait`` seconds at most.

    A state counts when it has been the same for ``rollout.SETTLED_S``, since right after the request it may be that of
    before. With ``task`` only that task counts.
    """

    def outcome(name: str, began: float) -> Outcome:
        since, before = began, ""
        while True:
            well, sentence, under_way = _look(worker, name, task, _left(began, wait))
            now = time.monotonic()
            if under_way or sentence != before:
                since, before = now, sentence
            late = now - began >= wait
            if late or (not under_way and now - since >= rollout.SETTLED_S):
                return name, well, f"after {wait:g} s {sentence}" if late and under_way else sentence
            time.sleep(rollout.LOOK_S)

    return _each(names, outcome)


def await_target(worker: Client, names: Iterable[str], state: str, wait: float) -> Iterator[Outcome]:
    """Yield each connector, whether it is in this state with its tasks, and a sentence about what is not.

    ``state`` is RUNNING, PAUSED or STOPPED. Each connector is waited for ``wait`` seconds at most, all at once. A
    connector that stays without tasks for ``rollout.SETTLED_S`` runs without them.
    """

    def outcome(name: str, began: float) -> Outcome:
        while True:
            settled = time.monotonic() - began >= rollout.SETTLED_S
            reached, sentence, under_way = _reached(worker, name, state, settled, _left(began, wait))
            if not under_way:
                return name, reached, sentence
            if time.monotonic() - began >= wait:
                return name, False, f"after {wait:g} s {sentence}"
            time.sleep(rollout.LOOK_S)

    return _each(names, outcome)


def _each(names: Iterable[str], outcome: Callable[[str, float], Outcome]) -> Iterator[Outcome]:
    """Yield the outcome of each connector, in the order of the names.

    Each is waited for on a thread of its own: an answer that does not come delays no other connector's. The threads are
    daemons: an interrupt of the command does not wait for them.
    """
    waiting: SimpleQueue[str] = SimpleQueue()
    found: dict[str, Future[Outcome]] = {}
    for name in names:
        if name not in found:
            found[name] = Future()
            waiting.put(name)
    began = time.monotonic()

    def run() -> None:
        with suppress(Empty):
            while True:
                name = waiting.get_nowait()
                try:
                    found[name].set_result(outcome(name, began))
                except _UnseenError as error:
                    accepted = f"the worker has accepted the request for connector {name}"
                    found[name].set_result((name, None, f"{accepted}, whose outcome cannot be seen: {error}"))
                except BaseException as error:
                    found[name].set_exception(error)

    for _ in range(min(len(found), MAX_AT_ONCE)):
        threading.Thread(target=run, name="outcome", daemon=True).start()
    for each in found.values():
        yield each.result()


def _left(began: float, wait: float) -> float:
    """Return the seconds that a look may take."""
    return max(began + wait - time.monotonic(), MIN_LOOK_S)


def await_stop(worker: Client, name: str, wait: float) -> None:
    """Return when the connector is stopped and has no tasks. Raises LateError after ``wait`` seconds."""
    began = time.monotonic()
    while True:
        shown = worker.status(name, within=_left(began, wait))
        if shown["connector"]["state"] == "STOPPED" and not shown["tasks"]:
            return
        if time.monotonic() - began >= wait:
            found = f"{shown['connector']['state']}, with {len(shown['tasks'])} tasks"
            raise LateError(f"After {wait:g} s connector {name} is not stopped yet ({found})")
        time.sleep(rollout.LOOK_S)


def _reached(worker: Client, name: str, state: str, settled: bool, within: float) -> tuple[bool, str, bool]:
    """Return whether the state is reached, a sentence about what is not in it, and whether that may change soon."""
    who = f"connector {name}"
    try:
        shown = _status(worker, name, within)
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


def _look(worker: Client, name: str, task: int | None, within: float) -> tuple[bool, str, bool]:
    """Return whether all is well, a sentence, and whether that may change by itself soon."""
    who = f"connector {name}"
    try:
        shown = _status(worker, name, within)
    except ClientError as error:  # one that is not there has been deleted, and does not come back
        problem = f"the status of {who} can't be read: {str(error).rstrip('.')}"
        return False, problem, not isinstance(error, ResourceNotFoundError)
    parts: list[tuple[str, Mapping[str, Any]]] = [(who, shown["connector"])] if task is None else []
    parts += [(f"task {each['id']} of {who}", each) for each in shown["tasks"] if task in (None, each["id"])]
    wrong = [(who, part) for who, part in parts if part["state"] in ("FAILED", *_UNDER_WAY)]
    found = "; ".join(f"{who} is {part['state']}{rollout.cause(part)}" for who, part in wrong or parts[:1])
    return not wrong, found, any(part["state"] in _UNDER_WAY for _, part in wrong)


def _status(worker: Client, name: str, within: float) -> dict[str, Any]:
    try:
        return worker.status(name, within=within)
    except WorkerError as error:
        if error.status in (401, 403):
            raise _UnseenError(error.message.rstrip(".")) from error
        raise
