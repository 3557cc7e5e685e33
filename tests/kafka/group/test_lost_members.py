"""Members in processes of their own that are killed, or suspended for a while."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from support.kafka.group_worker import Worker, settled, until

pytestmark = pytest.mark.integration

OTHER_PROCESS = """
import queue, sys, time
from penstock.core.group.membership import ClusterConfigSnapshot, Lost, Revoked
from penstock.kafka.group.member import GroupMember

bootstrap, group = sys.argv[1:]
settings = {"bootstrap.servers": bootstrap, "session.timeout.ms": "6000", "heartbeat.interval.ms": "1000"}
events = queue.Queue()
member = GroupMember(settings, group, "http://b:8083/", "sessioned", 2000, events.put)
member.publish(ClusterConfigSnapshot(5, {"c0": 3, "c1": 1}))
member.start()


def say(what, at):
    sys.stdout.write(f"{at} {what}\\n")
    sys.stdout.flush()


def ask():
    at = time.monotonic()
    member.confirm(lambda confirmed: events.put(("confirmed" if confirmed else "denied", at)))


while True:
    member.tick()
    try:
        event = events.get(timeout=0.1)
    except queue.Empty:
        ask()
        continue
    say(*(event if isinstance(event, tuple) else (type(event).__name__, time.monotonic())))
    if isinstance(event, (Revoked, Lost)):
        event.done()
"""


@pytest.fixture
def other_process(bootstrap: str, group: str) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    processes = []

    def start() -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", OTHER_PROCESS, bootstrap, group]
        processes.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
        return processes[-1]

    yield start
    for process in processes:
        with process:
            process.kill()


def test_a_killed_members_work_waits_for_it_and_then_goes_to_others(
    start: Callable[..., Worker], other_process: Callable[[], subprocess.Popen[str]]
) -> None:
    a = start("a", max_delay_ms=2000)
    until(lambda: settled(a), "a leads")
    b = other_process()
    until(lambda: {"http://a:8083/", "http://b:8083/"} == set(a.assignment.owners.tasks.values()), "a and b share")
    b.kill()
    until(lambda: a.assignment.assignment.delay_ms == 2000, "a knows of the loss")
    assert not settled(a)
    until(lambda: settled(a), "a runs everything")


def test_a_suspended_member_takes_its_work_up_again(
    start: Callable[..., Worker], other_process: Callable[[], subprocess.Popen[str]]
) -> None:
    a = start("a", max_delay_ms=60_000)
    until(lambda: settled(a), "a leads")
    b = other_process()
    until(lambda: {"http://a:8083/", "http://b:8083/"} == set(a.assignment.owners.tasks.values()), "a and b share")
    shared = a.assignment.owners
    b.send_signal(signal.SIGSTOP)
    until(lambda: a.assignment.assignment.delay_ms == 60_000, "a knows of the loss")
    b.send_signal(signal.SIGCONT)
    until(lambda: a.assignment.assignment.delay_ms == 0, "b is back")
    assert a.assignment.owners == shared
    b.kill()
    assert "Lost" not in b.communicate()[0]


def test_a_member_confirms_its_work_only_while_the_coordinator_counts_it(
    start: Callable[..., Worker], other_process: Callable[[], subprocess.Popen[str]]
) -> None:
    a = start("a")
    until(lambda: settled(a), "a leads")
    b = other_process()
    until(lambda: {"http://a:8083/", "http://b:8083/"} == set(a.assignment.owners.tasks.values()), "a and b share")
    assert b.stdout is not None
    until(lambda: b.stdout.readline().endswith("confirmed\n"), "b has confirmed its work")
    b.send_signal(signal.SIGSTOP)
    until(lambda: {"http://a:8083/"} == set(a.assignment.owners.tasks.values()) and settled(a), "a runs everything")
    thawed = time.monotonic()
    b.send_signal(signal.SIGCONT)
    until(lambda: {"http://a:8083/", "http://b:8083/"} == set(a.assignment.owners.tasks.values()), "a and b share")
    after: list[str] = []
    while "confirmed" not in after:
        at, what = b.stdout.readline().split()
        after += [what] if float(at) > thawed else []
    assert "Joined" in after
