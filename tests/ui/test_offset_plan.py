"""Offsets of a stopped sink that are set to the beginning or the end on the page."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from support.kafka.client import Kafka, Record
from support.waiting import until
from support.worker_process import WorkerProcess
from ui.conftest import Open
from ui.looks import looks_right

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def worker(chromium: Browser, bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    with WorkerProcess(bootstrap, tmp_path_factory.mktemp("plan"), offset__flush__interval__ms="500") as worker:
        yield worker


def test_a_sink_reads_again_from_the_beginning(worker: WorkerProcess, kafka: Kafka, open_page: Open) -> None:
    topic = kafka.create_topic(f"orders-{uuid.uuid4().hex[:6]}")
    name = f"{topic}-out"  # no other test's: a group of this name would have offsets of its topics too
    kafka.produce(topic, [Record(str(i), partition=0) for i in range(9)])
    worker.put(name, connector__class="FileStreamSink", topics=topic, file=str(worker.folder / "out.txt"))

    def committed() -> list[int]:
        return [each["offset"]["kafka_offset"] for each in worker.get(f"/connectors/{name}/offsets")["offsets"]]

    until(lambda: committed() == [9], "all records are committed")
    page = open_page(f"{str(worker.http.base_url).rstrip('/')}/ui#/connector/{name}/offsets")
    expect(page.get_by_text("Stop the connector to alter or reset its offsets.")).to_be_visible()
    expect(page.get_by_role("region", name="Read again or skip")).to_have_count(0)
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("combobox", name="Continue at").select_option("earliest")
    page.get_by_role("button", name="Show the offsets").click()
    row = page.get_by_role("region", name="Planned offsets").get_by_role("row").nth(1)
    expect(row.get_by_role("cell")).to_have_text([f"{topic}-0", "9", "0", "9", "0"])
    looks_right(page)
    page.get_by_role("button", name="Set these offsets").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"Set the offsets of {name}? When it is resumed, 9 offsets are read again.")
    dialog.get_by_role("button", name="Set").click()
    expect(page.get_by_role("region", name="Planned offsets")).to_have_count(0)  # the view has been drawn again
    assert committed() == [0]
    page.get_by_role("combobox", name="Continue at").select_option("latest")
    page.get_by_role("button", name="Show the offsets").click()
    expect(page.get_by_text("When it is resumed, 9 are skipped.")).to_be_visible()
    page.get_by_role("combobox", name="Continue at").select_option("time")
    page.get_by_role("button", name="Show the offsets").click()
    expect(page.get_by_text("Choose a time")).to_be_visible()
