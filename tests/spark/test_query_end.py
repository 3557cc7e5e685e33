"""When a query that does not end costs the others of its Spark application."""

from __future__ import annotations

import asyncio
import logging

import pytest

from penstock.spark.run import query_end
from penstock.spark.run.query_end import KillPatience, end_of_query
from penstock.spark.supervisor import JobEnd

OURS = "slow-0/3"


class Application:
    """Stands for a driver of queries: it records kills, after which all of its jobs are over."""

    def __init__(self, *groups: str) -> None:
        self.jobs = {group: asyncio.get_running_loop().create_future() for group in (OURS, *groups)}
        self.killed: list[str] = []
        self.looks: list[frozenset[str]] = []

    @property
    def groups(self) -> frozenset[str]:
        self.looks.append(frozenset(group for group, job in self.jobs.items() if not job.done()))
        return self.looks[-1]

    def kill(self, reason: str) -> None:
        self.killed.append(reason)
        for job in self.jobs.values():
            if not job.done():
                asyncio.get_running_loop().call_soon(job.set_result, JobEnd(reason, driver_died=True))

    def looked(self, times: int) -> bool:
        return len(self.looks) >= times


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look takes a thousandth of a second; it counts as one."""
    wait = asyncio.wait

    async def at_once(futures: set[asyncio.Future[JobEnd]], timeout: float) -> None:
        await wait(futures, timeout=timeout / 1000)

    monkeypatch.setattr(query_end.asyncio, "wait", at_once)


async def ends(application: Application, patience: KillPatience) -> None:
    await end_of_query("slow-0", OURS, application.jobs[OURS], application, patience)


def test_a_query_that_is_alone_is_killed_soon() -> None:
    async def run() -> None:
        application = Application()
        await ends(application, KillPatience())
        assert application.killed == ["Query slow-0 did not end when it was stopped."]
        assert len(application.looks) == query_end.ALONE_SECONDS + 1

    asyncio.run(run())


def test_a_slow_query_does_not_end_the_others(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        application = Application("other-0/1", "another-0/1")
        ending = asyncio.create_task(ends(application, KillPatience()))
        while not application.looked(30):
            await asyncio.sleep(0)
        application.jobs[OURS].set_result(JobEnd())
        await ending
        assert application.killed == []

    with caplog.at_level(logging.WARNING):
        asyncio.run(run())
    (line,) = caplog.messages
    assert line == (
        "Query slow-0 has not ended 5 s after it was cancelled. Its Spark application runs 2 other queries and is "
        "killed only if it takes 60 s"
    )


def test_a_query_that_does_not_end_at_all_ends_its_application_once() -> None:
    async def run() -> None:
        application = Application("other-0/1")
        await ends(application, KillPatience())
        assert len(application.killed) == 1
        assert len(application.looks) == query_end.AMONG_OTHERS_SECONDS + 1

    asyncio.run(run())


def test_a_query_whose_application_has_lost_the_others_is_killed_at_once() -> None:
    async def run() -> None:
        application = Application("other-0/1")
        ending = asyncio.create_task(ends(application, KillPatience()))
        while not application.looked(30):
            await asyncio.sleep(0)
        application.jobs["other-0/1"].set_result(JobEnd())
        await ending
        assert application.killed
        assert len(application.looks) < query_end.AMONG_OTHERS_SECONDS

    asyncio.run(run())


def test_each_kill_doubles_the_time_until_the_next() -> None:
    patience, now, seconds = KillPatience(), 1000.0, []
    for _ in range(7):
        seconds.append(patience.seconds(1, now))
        now += seconds[-1]
        patience.killed(1, now)
    assert seconds == [60, 120, 240, 480, 960, 960, 960]
    assert patience.seconds(0, now) == query_end.ALONE_SECONDS
    assert patience.seconds(1, now + query_end.FORGOTTEN_SECONDS) == 60
    patience.killed(1, now + query_end.FORGOTTEN_SECONDS)
    assert patience.seconds(1, now + query_end.FORGOTTEN_SECONDS) == 120


def test_kills_of_queries_that_were_alone_do_not_count() -> None:
    patience = KillPatience()
    patience.killed(0, 1000.0)
    assert patience.seconds(1, 1000.0) == 60
