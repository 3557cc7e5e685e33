"""Random requests, and judgements of every answer; ``Findings`` has the faults that a run has found."""

from __future__ import annotations

import base64
import json
import random
import re
import socket
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import psutil

from fuzz.forbidden import Attack
from fuzz.hostile import Hostile, Requests, garbage
from fuzz.target import CANARY, MAY_SEE_SECRETS, PLANTED, USERS, Target

CHANGES = ("PUT", "POST", "PATCH", "DELETE")
STRANGER = "stranger"
_FORGED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028]|\n\[")
"""Control characters, and texts that begin like a line of the log."""
SLOWEST_HEALTH = 2.0
CONNECTORS = (PLANTED, "orders-1", "orders-2")


@dataclass(slots=True)
class Findings:
    requests: int = 0
    changes: int = 0
    refusals: int = 0
    garbage: int = 0
    attacks: Counter[str] = field(default_factory=Counter)
    """Number of requests that must be refused, by kind."""
    accepted: list[str] = field(default_factory=list)
    """Attacks that were not refused as required."""
    forged: list[str] = field(default_factory=list)
    """Lines of the log with control characters."""
    leaks: list[str] = field(default_factory=list)
    unaudited: list[str] = field(default_factory=list)
    no_document: list[str] = field(default_factory=list)
    """Errors that are not in Connect's format."""
    defects: list[str] = field(default_factory=list)
    """Answers with status 500, and requests without an answer."""
    health: list[float] = field(default_factory=list)
    grown: int = 0
    """Growth of memory in bytes from the first quarter to the end."""

    @property
    def slow(self) -> int:
        return sum(each > SLOWEST_HEALTH for each in self.health)

    def problems(self) -> list[str]:
        return [
            *(*self.accepted, *self.leaks, *self.unaudited),
            *(*self.no_document, *self.defects, *self.forged),
        ]

    def report(self) -> str:
        health = sorted(self.health) or [0.0]
        return "\n".join([
            f"{self.requests} requests, {self.garbage} connections with garbage, {self.changes} changes, "
            f"{self.refusals} refusals",
            f"{self.attacks.total()} attacks of {len(self.attacks)} kinds, {len(self.accepted)} not refused",
            f"{len(self.leaks)} leaks, {len(self.unaudited)} unaudited changes or refusals, "
            f"{len(self.no_document)} errors without Connect's document, {len(self.defects)} answers with 500 or none, "
            f"{len(self.forged)} lines of the log with control characters",
            f"/health: {len(health)} times, p50 {health[len(health) // 2] * 1000:.0f} ms, "
            f"max {health[-1] * 1000:.0f} ms, {self.slow} over {SLOWEST_HEALTH:g} s",
            f"memory after the first quarter: {self.grown / 2**20:+.1f} MiB",
            *self.problems()[:20],
        ])  # fmt: skip


def attack(place: Target, count: int, seed: int) -> Findings:
    """Send ``count`` requests of three users and a stranger, and for every ten of them garbage on one connection."""
    chance = random.Random(seed)
    found = Findings()
    place.plant()
    requests = Requests(chance, [*USERS * 3, STRANGER], CONNECTORS, place.folder, place.hidden, place.spark)
    over = threading.Event()
    asking = threading.Thread(target=_ask_health, args=(place, found, over))
    asking.start()
    process, memory = psutil.Process(), 0
    try:
        for number in range(count):
            if number % 50 == 49:
                place.plant()
            if number % 10 == 9:
                _throw(place, garbage(chance), found)
            _send(place, requests.next(), found)
            if number == count // 4:
                memory = process.memory_info().rss
    finally:
        over.set()
        asking.join()
    found.grown = process.memory_info().rss - memory
    found.leaks += [f"in the log: {text[:300]}" for text in place.lines.texts if CANARY in text]
    found.forged = [ascii(text[:300]) for text in place.lines.texts if _FORGED.search(text)]
    return found


def _send(place: Target, request: Hostile, found: Findings) -> None:
    before, known = len(place.lines.audit), place.cluster.configs() if request.attack else {}
    found.requests += 1
    what = f"{request.user} {request.method[:20]} {request.path[:200]} {request.body[:200]!r}"
    try:
        status, headers, body = _exchanged(place.port, request)
    except OSError as error:
        found.defects.append(f"{what}: no answer: {error!r}")
        return
    lines = place.lines.audit[before:]
    if CANARY.encode() in body and request.user not in MAY_SEE_SECRETS:
        found.leaks.append(f"{what}: {status} {body[:300]!r}")
    if status >= 400 and request.method != "HEAD":
        _check_document(what, status, headers, body, found)
    if status == 500:
        found.defects.append(f"{what}: {body[:300]!r}")
    named = [line for line in lines if line["principal"] == (None if status == 401 else request.user)]
    if request.attack is not None:
        found.attacks[request.attack.kind] += 1
        if problem := _attack_problem(request, request.attack, status, body, len(lines)):
            found.accepted.append(f"{request.attack.kind}: {problem}: {what}: {status} {body[:500]!r}")
        if known != place.cluster.configs():
            found.accepted.append(f"{request.attack.kind}: a configuration has changed: {what}: {status}")
    changed = status < 400 and request.method in CHANGES and "/config/validate" not in request.path
    found.changes += changed
    found.refusals += status in (401, 403)
    if changed and len(named) != 1:
        found.unaudited.append(f"{what}: {status}, audit has {lines}")
    if status in (401, 403) and len(lines) != 1:
        found.unaudited.append(f"{what}: {status}, audit has {lines}")


def _attack_problem(request: Hostile, attack: Attack, status: int, body: bytes, lines: int) -> str | None:
    """Return the fault of an answer to an attack, or None."""
    text = body.decode()
    if CANARY in text and (status >= 400 or request.user not in MAY_SEE_SECRETS):
        return "a secret is shown"
    if status in (401, 403) and (
        request.user in (STRANGER, "victor")
        or dict(request.headers).keys() & {"Origin", "X-Penstock-Principal"}
        or (request.user == "tom" and attack.name is not None)
    ):
        return None
    if "/config/validate" in request.path and status == 200:
        if '"error_count":0' in text.replace(" ", ""):
            return "it is valid"
        return None if any(key in text for key in attack.keys) else "the setting is not named"
    if status == 404 and request.method == "PATCH":  # another request has deleted it
        return None
    if status not in (400, 403):
        return "it is not refused"
    if "%00" in request.path:
        return None if "400 Bad Request" in text else "the path is taken"
    if request.user == "victor" and attack.kind != "settings":  # a body is read before its sender is authorized
        return "a viewer may not ask"
    if not any(key.casefold() in text.casefold() for key in attack.keys):
        return "the setting is not named"
    if "/config/validate" not in request.path and lines != 1:
        return f"there are {lines} audit records"
    return None


def _check_document(what: str, status: int, headers: bytes, body: bytes, found: Findings) -> None:
    try:
        document: Any = json.loads(body)
        right = document["error_code"] == status and isinstance(document["message"], str)
    except (ValueError, TypeError, KeyError):
        right = False
    if not right or b"content-type: application/json" not in headers.lower():
        found.no_document.append(f"{what}: {status} {headers[:200]!r} {body[:200]!r}")


def _exchanged(port: int, request: Hostile) -> tuple[int, bytes, bytes]:
    """Exchange bytes over a socket, because no client would send all of these requests. Raises OSError."""
    lines = [
        f"{request.method} {request.path} HTTP/1.1".encode("utf-8", "surrogatepass"),
        b"Host: " + request.host.encode(),
        b"Connection: close",
    ]
    if request.user != STRANGER:
        lines.append(b"Authorization: Basic " + base64.b64encode(f"{request.user}:right".encode()))
    lines += [f"{name}: {value}".encode("latin-1") for name, value in request.headers]
    if request.body:
        lines.append(b"Content-Length: %d" % len(request.body))
    answer = _talk(port, b"\r\n".join(lines) + b"\r\n\r\n" + request.body)
    head, _, body = answer.partition(b"\r\n\r\n")
    try:
        return int(head.split(b" ", 2)[1]), head, body
    except (IndexError, ValueError):
        raise ConnectionError(f"the answer is {answer[:200]!r}") from None


def _talk(port: int, said: bytes, hang_up: bool = False) -> bytes:
    answer = bytearray()
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        with suppress(OSError):  # the server may close the connection after the first bytes
            connection.sendall(said)
            if hang_up:
                connection.shutdown(socket.SHUT_WR)
        with suppress(ConnectionError):
            while data := connection.recv(1 << 16):
                answer += data
    return bytes(answer)


def _throw(place: Target, said: bytes, found: Findings) -> None:
    found.garbage += 1
    try:
        answer = _talk(place.port, said, hang_up=True)
    except OSError as error:
        found.defects.append(f"garbage {said[:100]!r}: {error!r}")
        return
    head, _, rest = answer.partition(b"\r\n\r\n")
    body = rest.partition(b"HTTP/1.1 ")[0]
    if answer and not head.startswith(b"HTTP/1.1 2"):
        status = int(head.split(b" ", 2)[1])
        _check_document(f"garbage {said[:100]!r}", status, head, body, found)


def _ask_health(place: Target, found: Findings, over: threading.Event) -> None:
    request = Hostile("ada", "GET", "/health", b"", ())
    while not over.wait(0.1):
        began = time.monotonic()
        try:
            _exchanged(place.port, request)
        except OSError as error:
            found.defects.append(f"/health: {error!r}")
        found.health.append(time.monotonic() - began)
