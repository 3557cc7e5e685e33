"""Kills of the Spark application of queries: after how long, and while which other queries run."""

from __future__ import annotations

import asyncio
import logging
import math

import pytest

from penstock.spark.run import query_end
from penstock.spark.run.query_end import end_of_query, seconds_among_others
from penstock.spark.settings import HostSettings
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


def seconds(properties: dict[str, str]) -> float:
    settings = HostSettings.of(properties)
    return seconds_among_others(settings.graceful, settings.rebalance_timeout)


async def ends(application: Application, *ending: str) -> None:
    """Wait for our query, with the default settings; ``ending``: other queries that were cancelled."""
    await end_of_query("slow-0", OURS, application.jobs[OURS], application, set(ending), seconds({}))


def test_a_query_that_is_alone_is_killed_soon() -> None:
    async def run() -> None:
        application = Application()
        await ends(application)
        assert application.killed == ["Query slow-0 did not end when it was stopped."]
        assert len(application.looks) == query_end.ALONE_SECONDS + 1

    asyncio.run(run())


def test_a_slow_query_does_not_end_the_others(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        application = Application("other-0/1", "another-0/1")
        ending = asyncio.create_task(ends(application))
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
        "killed only if it takes 45 s"
    )


def test_a_query_that_does_not_end_at_all_ends_its_application_once() -> None:
    async def run() -> None:
        application = Application("other-0/1")
        await ends(application)
        assert len(application.killed) == 1
        assert len(application.looks) == seconds({}) + 1

    asyncio.run(run())


def test_a_query_whose_application_has_lost_the_others_is_killed_at_once() -> None:
    async def run() -> None:
        application = Application("other-0/1")
        ending = asyncio.create_task(ends(application))
        while not application.looked(30):
            await asyncio.sleep(0)
        application.jobs["other-0/1"].set_result(JobEnd())
        await ending
        assert application.killed
        assert len(application.looks) < seconds({})

    asyncio.run(run())


def test_a_query_is_killed_soon_if_all_others_were_cancelled_too() -> None:
    async def run() -> None:
        application = Application("hung-1/1", "hung-2/1")
        await ends(application, "hung-1/1", "hung-2/1")
        assert len(application.killed) == 1
        assert len(application.looks) == query_end.ALONE_SECONDS + 1

    asyncio.run(run())


def test_a_cancelled_query_is_spared_as_long_as_another_one_runs() -> None:
    async def run() -> None:
        application = Application("hung-1/1", "other-0/1")
        await ends(application, "hung-1/1")
        assert len(application.looks) == seconds({}) + 1

    asyncio.run(run())


def test_looks_that_take_longer_count_as_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        application = Application("other-0/1")
        monkeypatch.setattr(query_end, "LOOK_SECONDS", 0.0005)
        monkeypatch.setattr(query_end.asyncio, "wait", slow)
        await end_of_query("slow-0", OURS, application.jobs[OURS], application, set(), 0.01)
        assert len(application.looks) == 11  # each look counts for two

    async def slow(futures: set[asyncio.Future[JobEnd]], timeout: float) -> None:
        await asyncio.sleep(4 * timeout)

    monkeypatch.setattr(query_end, "ALONE_SECONDS", 60.0)
    asyncio.run(run())


def test_a_revocation_that_waits_for_a_query_ends_the_wait_before_the_worker_leaves_its_group() -> None:
    async def run() -> None:
        application = Application("revoked-0/1")

        def left() -> float:  # the group has revoked another query when this one had been waited for for 20 s
            waited = len(application.looks) - 1
            return math.inf if waited < 20 else 60.0 - (waited - 20) * 10

        await end_of_query("slow-0", OURS, application.jobs[OURS], application, set(), seconds({}), left)
        assert application.killed == ["Query slow-0 did not end when it was stopped."]
        assert len(application.looks) == 20 + 5 + 1

    asyncio.run(run())


def test_a_query_that_ends_at_once_ends_no_other_though_a_revocation_is_late() -> None:
    async def run() -> None:
        application = Application("other-0/1")
        ending = asyncio.create_task(
            end_of_query("slow-0", OURS, application.jobs[OURS], application, set(), seconds({}), lambda: 0.0)
        )
        while not application.looked(3):
            await asyncio.sleep(0)
        application.jobs[OURS].set_result(JobEnd())
        await ending
        assert application.killed == []

    asyncio.run(run())


@pytest.mark.parametrize("rebalance_timeout", [20, 30, 60, 90, 300])
@pytest.mark.parametrize("graceful", [0, 1, 5])
def test_a_query_is_killed_before_the_worker_has_to_confirm_its_end(graceful: int, rebalance_timeout: int) -> None:
    given = {
        "task.shutdown.graceful.timeout.ms": str(graceful * 1000),
        "rebalance.timeout.ms": str(rebalance_timeout * 1000),
    }
    among_others = seconds(given)
    assert query_end.ALONE_SECONDS <= among_others <= query_end.AMONG_OTHERS_SECONDS
    assert graceful + among_others + query_end.MARGIN_SECONDS <= rebalance_timeout


def test_a_query_that_is_not_alone_has_at_least_the_time_of_one_that_is() -> None:
    assert seconds_among_others(5.0, 6.0) == query_end.ALONE_SECONDS
