"""``python -m scale.page``, for ``make page``: times of REST and of the page for many connectors on one worker; the
exit status is 1 if they exceed the goals.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import psutil
import typer
from playwright.sync_api import Browser, Page, sync_playwright

from penstock.embedded import Broker
from support.waiting import until
from support.worker_process import WorkerProcess

LIST = "/connectors?expand=status&expand=info&penstock=true"
STATUS = "/connectors/c-0/status?penstock=true"
ANSWER_S, IDLE_PERCENT = 1.0, 2.0
"""Goals: maximum time of list, status and page, and maximum share of a core for an idle page."""
GOALS = {LIST: ANSWER_S, STATUS: ANSWER_S, "/metrics": None}
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
ROUNDS = 3
SCREEN = 40
"""More rows than fit on the screen without scrolling."""


@dataclass(frozen=True, slots=True)
class Finding:
    what: str
    values: list[float]
    unit: str
    goal: float | None = None
    """Maximum of the median."""

    @property
    def missed(self) -> bool:
        return self.goal is not None and statistics.median(self.values) > self.goal

    def __str__(self) -> str:
        verdict = "" if self.goal is None else f"; {'MISSED' if self.missed else 'within'} the goal of {self.goal:g}"
        range = f"{min(self.values):.3f} to {max(self.values):.3f}"
        return f"{self.what}: {statistics.median(self.values):.3f} {self.unit} ({range}){verdict}"


def run(connectors: int = 500, look: float = 30.0) -> None:
    """Create this number of file sources, each with a task, and measure when all of them run; processor time is
    measured for ``look`` seconds at a time.
    """
    missed = []
    folder = Path(tempfile.mkdtemp(prefix="penstock-page-"))
    with Broker(lasting=True) as broker, WorkerProcess(broker.bootstrap, folder) as worker:
        began = time.monotonic()
        _create(worker, connectors)
        print(f"{connectors} connectors were created and running after {time.monotonic() - began:.1f} s")
        time.sleep(15)
        for finding in chain(_rest(worker), _page(worker, connectors, look)):
            print(finding, flush=True)
            missed += [finding.what] if finding.missed else []
    shutil.rmtree(folder)
    print(f"Goals missed: {', '.join(missed)}" if missed else "All goals are met")
    if missed:
        raise typer.Exit(1)


def _create(worker: WorkerProcess, connectors: int) -> None:
    file = worker.folder / "lines"
    file.write_text("a line\n")
    for i in range(connectors):
        label = {"penstock__labels__team": f"team-{i % 5}"}
        worker.put(f"c-{i}", connector__class="FileStreamSource", topic=f"t-{i % 10}", file=str(file), **label)

    def running() -> bool:
        statuses = [each["status"] for each in worker.get("/connectors?expand=status").values()]
        return sum([task["state"] for task in each["tasks"]] == ["RUNNING"] for each in statuses) == connectors

    until(running, "all of them running")


def _rest(worker: WorkerProcess) -> Iterator[Finding]:
    for path, goal in GOALS.items():
        seconds = [_timed(lambda path=path: worker.http.get(path)) for _ in range(7)]  # type: ignore[misc]
        yield Finding(f"GET {path}", seconds, "s", goal)


def _page(worker: WorkerProcess, connectors: int, look: float) -> Iterator[Finding]:
    assert worker.process is not None
    process, url = psutil.Process(worker.process.pid), f"{str(worker.http.base_url).rstrip('/')}/ui"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), headless=True, args=list(FLAGS))
        seen, shown = zip(*(_seen(browser, url, connectors) for _ in range(5)), strict=True)
        yield Finding("the page, until a screen of rows is seen", list(seen), "s", ANSWER_S)
        yield Finding(f"the page, until all {connectors} rows are there", list(shown), "s")
        without, listed, one = [], [], []
        for _ in range(ROUNDS):  # in turns, since the load of the worker's tasks changes with time
            _close(browser)
            without.append(_busy(process, look))
            page = _open(browser, url, connectors)
            listed.append(_busy(process, look))
            page.goto(f"{url}#/connector/c-0")
            page.wait_for_selector("h1 .state")
            one.append(_busy(process, look))
        browser.close()
    idle = statistics.median(without)
    yield Finding("the worker's process without a page", without, "% of a core")
    yield Finding("more with the list open", [each - idle for each in listed], "% of a core", IDLE_PERCENT)
    yield Finding("more with a connector open", [each - idle for each in one], "% of a core", IDLE_PERCENT)


def _close(browser: Browser) -> None:
    for context in browser.contexts:
        context.close()


def _seen(browser: Browser, url: str, connectors: int) -> tuple[float, float]:
    """Return the seconds until the rows of a screen are drawn, and all rows, in an open window that loads the page."""
    _close(browser)
    page = browser.new_context(bypass_csp=True).new_page()  # the worker's policy forbids the script that finds the rows
    began = time.perf_counter()
    page.goto(url, wait_until="commit")
    _rows(page, min(connectors, SCREEN))
    page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    seen = time.perf_counter() - began
    _rows(page, connectors)
    return seen, time.perf_counter() - began


def _open(browser: Browser, url: str, connectors: int) -> Page:
    _close(browser)
    page = browser.new_context(bypass_csp=True).new_page()
    page.goto(url)
    _rows(page, connectors)
    return page


def _rows(page: Page, least: int) -> None:
    page.wait_for_function(f"document.querySelectorAll('tbody tr').length >= {least}", polling=20)


def _timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def _busy(process: psutil.Process, seconds: float) -> float:
    """Return the worker's use of a core in percent over ``seconds``, without tasks."""
    before, began = sum(process.cpu_times()[:2]), time.monotonic()
    time.sleep(seconds)
    return (sum(process.cpu_times()[:2]) - before) / (time.monotonic() - began) * 100


if __name__ == "__main__":
    typer.run(run)
