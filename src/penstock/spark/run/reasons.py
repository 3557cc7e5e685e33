"""Why a task ended that said nothing of its end, and whether its process ended by itself."""

from __future__ import annotations

import asyncio

from penstock.spark.admission import Link
from penstock.spark.run.sharing import SharedProcess
from penstock.spark.run.task_process import SETTLING, TaskProcess
from penstock.spark.supervisor import JAVA_ENDS, JobEnd
from penstock.spark.task_exit import crashed_on_executor, lost_with_executor

Reason = tuple[str, bool]
"""The reason for the task's status, and whether its process ended by itself."""


def silent(link: Link, lease: float) -> Reason:
    return f"No heartbeat of the task ({_place(link)}) for {lease:g} s: it is frozen or cut off", False


async def ended(link: Link, job: asyncio.Future[JobEnd] | None, process: TaskProcess, query: bool) -> Reason:
    """Of one that has hung up. Waits a little for what Spark says of its job, and for its exit status."""
    where = _place(link)
    if job is not None:
        # A query's job ends with Java, which is given its own time to end.
        await asyncio.wait({job}, timeout=SETTLING + 2 * JAVA_ENDS if query else SETTLING)
        if job.done() and job.result().driver_died:
            return f"The task ended with Spark ({where}): {job.result().error}", False
    error = job.result().error if job is not None and job.done() else None
    if lost_with_executor(error):
        return f"The task ended with its executor ({where}): {error}", False
    seen = await process.ended_how()
    how, died = ("it was killed, or it crashed", crashed_on_executor(error)) if seen is None else seen
    return f"The process of the task ended without a word ({where}): {how}", died


def ended_by_another(process: SharedProcess, group: str) -> Reason | None:
    """That the process was ended for another run in it; None if it was not."""
    if process.ended_by in ("", group):
        return None
    return f"The process was ended because of run {process.ended_by} of another task in it, which did not end", False


def in_company(reason: str) -> Reason:
    """Of one that was not alone in a process that ended by itself: it is not known to have ended it."""
    return f"{reason}. Other tasks were in it, and this one starts again in a process of its own", False


def _place(link: Link) -> str:
    return f"process {link.who.pid} on {link.who.host}"
