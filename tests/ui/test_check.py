"""The check of a connector's target on the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from support.kafka.client import Kafka
from support.worker_process import WorkerProcess
from ui.conftest import Open
from ui.looks import looks_right

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def worker(chromium: Browser, bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    with WorkerProcess(bootstrap, tmp_path_factory.mktemp("check")) as worker:
        yield worker


def test_a_connector_and_a_change_of_it_are_checked(
    worker: WorkerProcess, kafka: Kafka, tmp_path: Path, open_page: Open
) -> None:
    file = str(tmp_path / "out.txt")
    worker.put("orders", connector__class="FileStreamSink", topics=kafka.create_topic(), file=file)
    worker.running("orders")
    url = str(worker.http.base_url).rstrip("/")
    page = open_page(f"{url}/ui#/connector/orders")
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.get_by_text("No step has failed.")).to_be_visible()
    rows = page.get_by_role("region", name="Steps of the check").get_by_role("row")
    expect(rows.last).to_contain_text(f"{file} can be written")
    looks_right(page)

    page.goto(f"{url}/ui#/connector/orders/configuration")
    page.get_by_role("button", name="Edit as JSON").click()
    text = page.get_by_role("textbox", name="Configuration as JSON")
    text.fill(text.input_value().replace(file, "/no/folder/out.txt"))
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.get_by_text("A step has failed.")).to_be_visible()
    expect(rows.last).to_contain_text("The folder /no/folder does not exist on this worker")
    looks_right(page)
