"""``python -m scale.page``: what many connectors on one worker cost those who look at them, by REST and on the page."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import typer
from playwright.sync_api import Browser, sync_playwright

from penstock.embedded import Broker
from support.waiting import until
from support.worker_process import WorkerProcess

PATHS = ("/connectors?expand=status&expand=info", "/connectors/c-0/status?penstock=true", "/metrics")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
LOOK_S = 30.0


def run(connectors: int = 500) -> None:
    """Create so many file sources, each with a task, and measure when all of them are running."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-page-"))
    with Broker(lasting=True) as broker, WorkerProcess(broker.bootstrap, folder) as worker:
        began = time.monotonic()
        _create(worker, connectors)
        print(f"{connectors} connectors were created and running after {time.monotonic() - began:.1f} s")
        time.sleep(15)
        for line in (*_rest(worker), *_page(worker, connectors)):
            print(line, flush=True)
    shutil.rmtree(folder)


def _create(worker: WorkerProcess, connectors: int) -> None:
    file = worker.folder / "lines"
    file.write_text("a line\n")
    for i in range(connectors):
        label = {"penstock__labels__team": f"team-{i % 5}"}
        worker.put(f"c-{i}", connector__class="FileStreamSource", topic=f"t-{i % 10}", file=str(file), **label)

    def running() -> bool:
        statuses = [each["status"] for each in worker.get("/connectors?expand=status").values()]
        return sum([task["state"] for task in each["tasks"]] == ["RUNNING"] for each in statuses) == connectors

    until(running, "all of them running", 600)


def _rest(worker: WorkerProcess) -> Iterator[str]:
    for path in PATHS:
        seconds = [_timed(lambda path=path: worker.http.get(path)) for _ in range(7)]  # type: ignore[misc]
        yield f"GET {path}: {statistics.median(seconds) * 1000:.0f} ms, at most {max(seconds) * 1000:.0f} ms"


def _page(worker: WorkerProcess, connectors: int) -> Iterator[str]:
    assert worker.process is not None
    process, url = psutil.Process(worker.process.pid), f"{str(worker.http.base_url).rstrip('/')}/ui"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), headless=True, args=list(FLAGS))
        shown = [_timed(lambda: _open(browser, url, connectors)) for _ in range(4)]
        yield f"the page with {connectors} rows: {min(shown):.2f} to {max(shown):.2f} s"
        yield f"the worker's process without a page: {_busy(process):.1f} % of a core"
        page = _open(browser, url, connectors)
        yield f"… with the list open: {_busy(process):.1f} %"
        page.goto(f"{url}#/connector/c-0")
        page.wait_for_selector("h1 .state")
        yield f"… with a connector open: {_busy(process):.1f} %"
        browser.close()


def _open(browser: Browser, url: str, connectors: int) -> Any:
    for context in browser.contexts:
        context.close()
    page = browser.new_context().new_page()
    page.goto(url)
    page.wait_for_function(f"document.querySelectorAll('tbody tr').length === {connectors}", polling=20)
    return page


def _timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def _busy(process: psutil.Process) -> float:
    """Percent of a core over LOOK_S, tasks not included."""
    before, began = sum(process.cpu_times()[:2]), time.monotonic()
    time.sleep(LOOK_S)
    return (sum(process.cpu_times()[:2]) - before) / (time.monotonic() - began) * 100


if __name__ == "__main__":
    typer.run(run)
