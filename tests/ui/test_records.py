"""Records of a connector's topics on the page."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from support.kafka.client import Kafka, Record
from support.tasks.runs import JSON
from support.worker_process import WorkerProcess
from ui.conftest import Open
from ui.looks import looks_right, picture

pytestmark = pytest.mark.integration

MASK = {"type": "org.apache.kafka.connect.transforms.MaskField$Value", "fields": "card"}


@pytest.fixture(scope="module")
def topics(kafka: Kafka) -> list[str]:
    """A topic with 120 records and one that is no JSON, and an empty one."""
    topics = [kafka.create_topic(f"{name}-{uuid.uuid4().hex[:6]}") for name in ("orders", "payments")]
    texts = [f'{{"order": {i}, "customer": "c{i % 7}", "card": "4000-{i}"}}' for i in range(120)]
    headers = (("from", b"shop"), ("from", b"web"))
    sent = [Record(text, key=f"k{i}", partition=0, headers=headers) for i, text in enumerate(texts)]
    kafka.produce(topics[0], [*sent, Record("{broken", partition=0)])
    return topics


@pytest.fixture(scope="module")
def worker(
    chromium: Browser, bootstrap: str, topics: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    folder = tmp_path_factory.mktemp("records")
    config = {
        "connector.class": "FileStreamSink",
        "topics": ",".join(topics),
        "file": str(folder / "out.txt"),
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
        "errors.tolerance": "all",
        "transforms": "mask",
        **{f"transforms.mask.{name}": value for name, value in MASK.items()},
    }
    with WorkerProcess(bootstrap, folder) as worker:
        worker.put("orders-out", **config)
        worker.running("orders-out")
        worker.put("one-out", **config | {"topics": topics[0], "file": str(folder / "one.txt")})
        yield worker


def test_records_are_searched_opened_and_continued(
    worker: WorkerProcess, topics: list[str], open_page: Open, request: pytest.FixtureRequest
) -> None:
    topic, other = topics
    url = str(worker.http.base_url).rstrip("/")
    page = open_page(f"{url}/ui#/connector/orders-out/records")
    page.get_by_role("combobox", name="Topic").select_option(topic)
    page.get_by_role("button", name="Show records").click()
    rows = page.get_by_role("region", name="Records", exact=True).get_by_role("row")
    expect(rows).to_have_count(51)
    expect(rows.last.locator(".wrong")).to_contain_text("DataException")
    expect(rows.nth(49)).to_contain_text('"card":"[hidden]"')
    expect(page.get_by_text("Masked, as the connector's transforms do: card.")).to_be_visible()
    expect(page.get_by_text("Masked whole, since masked fields may be there: headers,")).to_be_visible()
    page.get_by_role("combobox", name="from").select_option("earliest")
    page.get_by_role("button", name="Show records").click()
    expect(page.get_by_text("there are more")).to_be_visible()
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_role("button", name=f"Show {topic}-0-99")).to_be_visible()
    page.get_by_role("combobox", name="from").select_option("offset")
    page.get_by_role("spinbutton", name="Offset").fill("40")
    page.get_by_role("button", name="Show records").click()
    expect(page.get_by_text("An offset needs its partition")).to_be_visible()
    page.get_by_role("spinbutton", name="of partition").fill("0")
    page.get_by_role("searchbox", name="with the text").fill('"CUSTOMER": "c3"')
    page.get_by_role("searchbox", name="with the text").press("Enter")
    expect(rows).to_have_count(12)
    page.get_by_role("button", name=f"Show {topic}-0-45").click()
    article = page.get_by_role("article")
    expect(article).to_contain_text(f"Record {topic}-0-45")
    expect(article).to_contain_text('"card": "[hidden]"')
    expect(article).to_contain_text("from: [hidden] from: [hidden]")
    looks_right(page)
    picture(page, "records", request, page.get_by_role("navigation", name="Sections"))
    page.get_by_role("combobox", name="Topic").select_option(other)
    page.get_by_role("button", name="Show records").click()
    expect(page.get_by_text("No record with this text was found.")).to_be_visible()
    expect(article).to_have_count(0)


def test_a_connector_with_one_topic_is_read_once_and_again_after_an_error(
    worker: WorkerProcess, topics: list[str], open_page: Open
) -> None:
    url = str(worker.http.base_url).rstrip("/")
    page = open_page(f"{url}/ui#/connector/one-out/overview")
    section = page.get_by_role("navigation", name="Sections").get_by_role("link", name="Records")
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/records?" in request.url else None)
    refusal = {"error_code": 429, "message": "ada has 2 previews under way"}
    page.route("**/records?*", lambda route: route.fulfill(status=429, json=refusal))
    section.click()
    again = page.get_by_role("button", name="Try again")
    expect(page.get_by_role("region", name="Records").get_by_role("alert")).to_have_text(refusal["message"])
    page.unroute("**/records?*")
    asked.clear()
    again.click()
    expect(page.get_by_role("region", name="Records", exact=True).get_by_role("row")).to_have_count(51)
    expect(page.get_by_role("combobox", name="Topic")).to_have_value(topics[0])
    assert len(asked) == 1
