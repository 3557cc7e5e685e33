"""The page as an operator uses it, at a real worker with real connectors, one of which has failed."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from support.kafka.client import Kafka, Record
from support.tasks.runs import JSON
from support.waiting import until
from support.worker_process import STRING, WorkerProcess
from ui.conftest import Open
from ui.looks import looks_right, picture

pytestmark = pytest.mark.integration

SINK = "FileStreamSink"
HOIST = "org.apache.kafka.connect.transforms.HoistField$Value"
INSERT = "org.apache.kafka.connect.transforms.InsertHeader"


@pytest.fixture(scope="module")
def worker(
    chromium: Browser, bootstrap: str, kafka: Kafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    """A worker with ``orders-in`` → topic → ``orders-out``, and ``payroll-out``, whose folder does not exist."""
    folder = tmp_path_factory.mktemp("ui")
    (folder / "in.txt").write_text("".join(f"order {i}\n" for i in range(50)))
    topic = kafka.create_topic()
    with WorkerProcess(bootstrap, folder) as worker:
        label = {"penstock__labels__team": "orders"}
        worker.put("orders-in", connector__class="FileStreamSource", file=str(folder / "in.txt"), topic=topic, **label)
        worker.put("orders-out", connector__class=SINK, file=str(folder / "out.txt"), topics=topic, **label)
        worker.put("payroll-out", connector__class=SINK, file="/srv/no such folder/payroll.txt", topics=topic)
        worker.running("orders-in")
        worker.running("orders-out")
        until(lambda: "FAILED" in worker.states("payroll-out"), "payroll-out failed")
        yield worker


def at(worker: WorkerProcess, hash: str = "") -> str:
    return f"{str(worker.http.base_url).rstrip('/')}/ui#/{hash}"


def state(page: Page) -> Any:
    return page.locator("h1 .state")


def test_from_a_failure_to_running_in_six_clicks(
    worker: WorkerProcess, open_page: Open, request: pytest.FixtureRequest
) -> None:
    page, clicks = open_page(at(worker)), []

    def click(where: Any) -> None:
        clicks.append(where)
        where.click()

    first = page.locator("tbody tr").first
    expect(first.locator(".state")).to_have_text("FAILED")
    expect(first.locator(".cause")).to_contain_text("NoSuchFileException")
    urgent = page.locator(".attention li").first
    expect(urgent).to_contain_text("payroll-out task 0")
    expect(urgent.locator(".why")).to_contain_text("NoSuchFileException")
    looks_right(page)
    picture(page, "connectors", request)
    click(first.get_by_role("link", name="payroll-out"))
    expect(page.locator(".root")).to_contain_text("NoSuchFileException")
    expect(page.locator(".failure h2")).to_have_text(["Task 0 failed"])
    expect(page.locator("details pre")).to_be_hidden()
    looks_right(page)
    picture(page, "failure", request)
    click(page.get_by_role("link", name="Change the configuration"))
    file = page.get_by_label("file", exact=True)
    click(file)
    file.fill("/srv/payroll.txt")
    expect(page.locator(".changes li")).to_have_count(1)
    looks_right(page)
    picture(page, "configuration", request)
    file.fill(str(worker.folder / "payroll.txt"))
    click(page.get_by_role("button", name="Save"))
    expect(page.locator("td .state")).to_have_text("RUNNING", timeout=900_000)
    expect(page.locator(".root")).to_have_count(0)
    assert len(clicks) == 4
    until(lambda: "order 49" in (worker.folder / "payroll.txt").read_text(), "the records in the file")


def test_filter_and_groups(worker: WorkerProcess, open_page: Open) -> None:
    page = open_page(at(worker))
    rows = page.locator("tbody tr")
    expect(rows.filter(has_text="orders-in")).to_have_count(1)
    page.get_by_label("Filter").press_sequentially("source orders")
    expect(rows).to_have_count(1)
    page.get_by_label("Filter").fill("team=orders")
    expect(rows).to_have_count(2)
    page.get_by_label("Filter").fill("")
    page.get_by_label("Group by label").select_option("team")
    groups = page.locator("section:has(table) h2")
    expect(groups).to_have_count(2)
    expect(page.get_by_role("heading", name="team=orders")).to_be_visible()


def test_pause_resume_restart(worker: WorkerProcess, open_page: Open) -> None:
    page = open_page(at(worker, "connector/orders-out"))
    page.get_by_role("button", name="Pause").click()
    expect(state(page)).to_have_text("PAUSED")
    page.get_by_role("button", name="Resume").click()
    expect(state(page)).to_have_text("RUNNING")
    page.get_by_role("button", name="Restart with tasks").click()
    page.locator(".state", has_text="RESTARTING").first.wait_for()  # checks all the time, since it may disappear soon
    expect(page.get_by_role("status")).to_have_text("Restarting the connector and its tasks")
    expect(page.locator("td .state")).to_have_text("RUNNING")
    page.get_by_role("button", name="Restart task 0").click()
    expect(page.get_by_role("status")).to_have_text("Restarting task 0")
    worker.running("orders-out")


def test_failed_tasks_are_restarted(worker: WorkerProcess, open_page: Open) -> None:
    name = f"broken-{uuid.uuid4().hex[:6]}"
    topic = worker.get("/connectors/orders-out/config")["topics"]
    worker.put(name, connector__class=SINK, file="/srv/no such folder/broken.txt", topics=topic)
    until(lambda: "FAILED" in worker.states(name), f"{name} failed")
    page = open_page(at(worker, f"connector/{name}"))
    page.get_by_role("button", name="Restart failed").click()
    page.locator("td .state", has_text="RESTARTING").wait_for()
    expect(page.get_by_role("status")).to_have_text("Restarting what has failed")
    expect(state(page)).to_have_text("FAILED")
    expect(page.locator("td .state")).to_have_text("FAILED")
    worker.http.delete(f"/connectors/{name}")


def test_figures_and_topics(worker: WorkerProcess, open_page: Open, request: pytest.FixtureRequest) -> None:
    page = open_page(at(worker, "connector/orders-out"))
    with (worker.folder / "in.txt").open("a") as more:
        more.write("one more\n" * 100)
    # A record that comes after the topics are reset would tell of its topic again.
    taken = worker.folder / "out.txt"
    until(lambda: taken.read_text().count("one more\n") >= 100, "the lines in the file")
    expect(page.get_by_role("img", name="Records per second")).to_be_visible()
    expect(page.get_by_role("img", name="Records behind")).to_be_visible()
    positions = page.get_by_role("region", name="Positions")
    expect(positions).to_contain_text("reads")
    expect(page.get_by_role("region", name="Stages").locator("th")).to_contain_text(["Task", "poll", "convert", "put"])
    looks_right(page)
    picture(page, "overview", request)
    expect(page.locator(".topics li")).to_have_count(1)
    page.get_by_role("button", name="Reset the topics used").click()
    expect(page.get_by_text("None yet.")).to_be_visible()


def test_a_wrong_setting_is_shown_while_typing(worker: WorkerProcess, open_page: Open) -> None:
    page = open_page(at(worker, "connector/orders-in/configuration"))
    expect(page.locator("[id='setting-value.converter-values'] option[value$='.JsonConverter']")).not_to_have_count(0)
    tasks = page.get_by_label("tasks.max", exact=True)
    tasks.fill("many")
    expect(tasks).to_have_attribute("aria-invalid", "true")
    expect(page.locator("[id='setting-tasks.max-errors']")).to_contain_text("many")
    expect(tasks).to_be_focused()
    page.get_by_label("Name of another setting").fill("flie")
    page.get_by_label("Its value").fill("x")
    page.get_by_role("button", name="Add").click()
    expect(page.locator(".warning", has_text="flie")).to_be_visible()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").first).to_contain_text("many")
    assert worker.get("/connectors/orders-in/config").get("flie") is None
    page.get_by_role("button", name="Edit as JSON").click()
    page.get_by_label("Configuration as JSON").fill("{")
    expect(page.get_by_text("This is not a configuration")).to_be_visible()
    page.get_by_label("Configuration as JSON").fill('{"file": {}}')
    expect(page.get_by_text("the value of file must be a text")).to_be_visible()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").first).to_contain_text("This is not a configuration")


def test_a_preview_of_a_change(worker: WorkerProcess, open_page: Open, request: pytest.FixtureRequest) -> None:
    page = open_page(at(worker, "connector/orders-in/configuration"))
    changes = {"transforms": "h,i", "transforms.h.type": HOIST, "transforms.h.field": "line"}
    inserted = {"transforms.i.type": INSERT, "transforms.i.header": "from", "transforms.i.value.literal": "a file"}
    for key, value in {**changes, **inserted}.items():
        field = page.get_by_label(key, exact=True)
        page.get_by_label("Find").fill(key)
        expect(page.locator(".settings [role=status]")).not_to_be_empty()
        field.fill(value)
    page.get_by_role("button", name="Preview").click()
    expect(page.locator(".record").first).to_contain_text("Struct{line=order 0}", timeout=900_000)
    expect(page.locator(".record .right").first).to_contain_text('headers [["from","a file"]]')
    looks_right(page)
    picture(page, "preview", request, page.locator(".preview"))
    assert "transforms" not in worker.get("/connectors/orders-in/config")


def test_a_preview_of_a_sink_begins_where_it_is_asked_to(worker: WorkerProcess, open_page: Open) -> None:
    until(lambda: "order 49" in (worker.folder / "out.txt").read_text(), "the records in the topic")
    page = open_page(at(worker, "connector/orders-out/configuration"))
    record = page.locator(".record").first
    page.get_by_label("Records", exact=True).fill("1")
    page.get_by_label("from offset").fill("7")
    page.get_by_role("button", name="Preview").click()
    expect(record).to_contain_text("order 7", timeout=900_000)
    page.get_by_label("of partition").fill("-1")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator(".preview [role=alert]")).to_contain_text("greater than or equal to 0")


def test_offsets_are_altered_while_it_is_stopped(
    worker: WorkerProcess, open_page: Open, request: pytest.FixtureRequest
) -> None:
    until(lambda: worker.get("/connectors/orders-in/offsets")["offsets"], "committed offsets")
    page = open_page(at(worker, "connector/orders-in/offsets"))
    expect(page.get_by_text("Stop the connector to alter")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    offset = page.get_by_role("textbox", name="Offset of")
    offset.fill('{"position": 9}')
    looks_right(page)
    picture(page, "offsets", request)
    page.get_by_role("button", name="Alter").click()
    expect(page.get_by_role("status")).to_contain_text("have been altered")
    (altered,) = worker.get("/connectors/orders-in/offsets")["offsets"]
    assert altered["offset"] == {"position": 9}
    offset.fill("9")
    page.get_by_role("button", name="Reset all offsets").click()
    page.get_by_role("dialog").get_by_role("button", name="Reset").click()
    expect(page.get_by_text("It has no offsets.")).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    worker.running("orders-in")


def test_history_and_the_way_back(worker: WorkerProcess, open_page: Open, request: pytest.FixtureRequest) -> None:
    config = worker.get("/connectors/orders-in/config")
    assert worker.http.put("/connectors/orders-in/config", json={**config, "batch.size": "7"}).status_code == 200
    versions = "/penstock/v1/connectors/orders-in/history"
    until(lambda: "batch.size" in str(worker.get(versions)["versions"][0]), "the new version")
    restart = worker.http.post("/connectors/orders-in/restart", params={"includeTasks": "true"})
    assert restart.status_code == 202
    events = "/penstock/v1/connectors/orders-in/events"
    until(lambda: "restart" in [each["kind"] for each in worker.get(events)["events"]], "the restart's event")
    worker.running("orders-in")
    page = open_page(at(worker, "connector/orders-in/history"))
    expect(page.locator(".versions li").first).to_contain_text("batch.size")
    looks_right(page)
    picture(page, "history", request)
    page.get_by_role("button", name="Roll back to version 1", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Roll back").click()
    expect(page.get_by_role("status")).to_have_text("Applied the configuration of version 1")
    assert "batch.size" not in worker.get("/connectors/orders-in/config")
    expect(page.get_by_role("region", name="Events")).to_contain_text("RUNNING")
    expect(page.get_by_role("region", name="Events")).to_contain_text("restart of the connector with tasks")


def test_logs_are_followed(worker: WorkerProcess, open_page: Open, request: pytest.FixtureRequest) -> None:
    page = open_page(at(worker, "connector/orders-out/logs"))
    expect(page.locator(".log li").first).to_be_visible()
    before = page.locator(".log li").count()
    assert worker.http.post("/connectors/orders-out/restart?includeTasks=true").status_code in (202, 204)
    expect(page.locator(".log li").nth(before)).to_be_visible(timeout=900_000)
    looks_right(page)
    picture(page, "logs", request)
    worker.running("orders-out")


def test_a_connector_is_created_and_deleted(worker: WorkerProcess, open_page: Open) -> None:
    name = f"made-{uuid.uuid4().hex[:6]} here/é"
    page = open_page(at(worker, "create"))
    page.get_by_label("Filter").fill("filestreamsource")
    looks_right(page)
    page.get_by_role("link", name="FileStreamSource").click()
    page.get_by_label("Name", exact=True).fill(name)
    expect(page.get_by_label("topic", exact=True)).to_have_attribute("aria-invalid", "true")
    page.get_by_label("topic", exact=True).fill("nothing")
    page.get_by_label("file", exact=True).fill(str(worker.folder / "in.txt"))
    page.get_by_label("Initial state").select_option("STOPPED")
    expect(page.get_by_text("Valid", exact=True)).to_be_visible()
    looks_right(page)
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(name)
    expect(state(page)).to_have_text("STOPPED")
    page.get_by_role("button", name="Delete").click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Connectors")
    until(lambda: name not in worker.get("/connectors"), "deleted")


def test_workers_and_loggers(worker: WorkerProcess, open_page: Open, request: pytest.FixtureRequest) -> None:
    page = open_page(at(worker, "workers"))
    expect(page.get_by_text("healthy:")).to_be_visible()
    row = page.get_by_role("region", name="Workers").locator("tbody tr")
    expect(row).to_contain_text(["(leader)"])
    expect(row).to_contain_text(["hosted: running"])
    expect(row.locator("summary")).to_contain_text("connectors")
    orders = row.locator("li", has=page.get_by_role("link", name="orders-out", exact=True))
    expect(orders).to_contain_text("task 0 RUNNING")
    page.get_by_label("Filter").fill("penstock.http")
    looks_right(page)
    picture(page, "workers", request)
    page.get_by_label("Filter").fill("")
    page.get_by_label("Another logger").fill("org.apache.kafka.connect.page")
    page.get_by_role("button", name="Set to DEBUG").click()
    level = page.get_by_label("Level of org.apache.kafka.connect.page")
    expect(level).to_have_value("DEBUG")
    level.select_option("WARN")
    expect(page.get_by_role("status")).to_contain_text("logs at WARN on this worker")
    assert worker.get("/admin/loggers/org.apache.kafka.connect.page")["level"] == "WARN"


def test_dead_letters_are_decoded_and_replayed(
    worker: WorkerProcess, kafka: Kafka, open_page: Open, request: pytest.FixtureRequest
) -> None:
    topic, queue, name = kafka.create_topic(), f"dead-{uuid.uuid4().hex[:6]}", f"letters-{uuid.uuid4().hex[:6]}"
    dead = {"errors__tolerance": "all", "errors__deadletterqueue__topic__name": queue}
    headers = {"errors__deadletterqueue__context__headers__enable": "true", "value__converter": JSON}
    copies = {"errors__deadletterqueue__topic__replication__factor": "1", "value__converter__schemas__enable": "false"}
    config = {"connector__class": SINK, "topics": topic, "file": str(worker.folder / f"{name}.txt"), **dead, **copies}
    worker.put(name, **{**config, **headers})
    kafka.produce(
        topic, [Record('{"good": 1}', partition=0), Record('{"ä": ', partition=0), Record("\x00", partition=0)]
    )
    until(lambda: queue in kafka.topics() and len(kafka.values(queue)) == 2, "the dead letters")

    page = open_page(at(worker, f"connector/{name}/dead-letters"))
    rows = page.get_by_role("region", name="Dead letters").locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(page.locator(".reasons")).to_contain_text("2 × VALUE_CONVERTER: DataException")
    page.get_by_role("button", name=f"Show {queue}-0-0").click()
    letter = page.get_by_role("article", name=f"{queue}-0-0")
    expect(letter).to_contain_text('{"ä": ')
    expect(letter).to_contain_text(f"{topic}-0-1")
    expect(letter.locator("details pre")).to_be_hidden()
    letter.get_by_role("button", name="Decode").click()
    expect(letter).to_contain_text("Fails in VALUE_CONVERTER", timeout=900_000)
    looks_right(page)
    picture(page, "dead-letters", request)

    worker.put(name, **{**config, "value__converter": STRING})
    letter.get_by_role("button", name="Decode").click()
    expect(letter.locator(".right")).to_contain_text('{"ä":', timeout=900_000)
    letter.get_by_role("button", name="Replay this record").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"1 to {topic}")
    waits = "[...document.querySelectorAll('button')].find((b) => b.textContent === 'Replay all').ariaDisabled"
    assert page.evaluate(waits) == "true", "one replay at a time"
    dialog.get_by_role("button", name="Replay").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("status")).to_have_text(f"Replayed 1 to {topic}")
    expect(rows.filter(has_text="replayed")).to_have_count(1)
    page.get_by_role("button", name="Replay all", disabled=False).click()
    dialog.get_by_role("button", name="Replay").click()
    expect(rows.filter(has_text="replayed")).to_have_count(2)
    expect(page.get_by_role("button", name="Replay all")).to_have_count(0)
    until(lambda: len(kafka.values(topic)) == 5, "both in their topic again")
    worker.http.delete(f"/connectors/{name}")


def test_a_record_that_fails_is_skipped(worker: WorkerProcess, kafka: Kafka, open_page: Open) -> None:
    topic, name = kafka.create_topic(), f"skips-{uuid.uuid4().hex[:6]}"
    kafka.produce(topic, [Record("1", partition=0), Record("{broken", partition=0), Record("3", partition=0)])
    file = worker.folder / f"{name}.txt"
    plain = {"value__converter": JSON, "value__converter__schemas__enable": "false"}
    worker.put(name, connector__class=SINK, topics=topic, file=str(file), **plain)
    until(lambda: "FAILED" in worker.states(name), f"{name} failed")

    pending = f"/penstock/v1/connectors/{name}/skips"
    skip = {"topic": topic, "partition": 0, "offsets": [1], "to": "discard", "restart": False}
    assert worker.http.post(pending, json=skip).status_code == 202
    page = open_page(at(worker, f"connector/{name}"))
    place, heading = f"{topic}-0@1", page.get_by_role("heading", name="Records to be skipped")
    expect(heading).to_be_visible()
    page.get_by_role("button", name="Forget the skips").click()
    expect(heading).to_have_count(0)
    assert worker.get(pending)["skips"] == []
    page.get_by_role("button", name=f"Skip {place} to the dead letter queue").click()
    page.get_by_role("dialog").get_by_role("button", name="Skip", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("has no dead letter queue")
    page.get_by_role("button", name=f"Skip {place} and discard it").click()
    looks_right(page)
    page.get_by_role("dialog").get_by_role("button", name="Skip", exact=True).click()
    expect(page.locator(".failure")).to_have_count(0)
    until(lambda: file.exists() and file.read_text().splitlines() == ["1", "3"], "the other records")
    until(lambda: not worker.get(pending)["skips"], "the end of the skip")
    expect(heading).to_have_count(0)
    page.get_by_role("link", name="History").click()
    expect(page.get_by_text(f"skip of {place}, discarded")).to_have_count(2)
    worker.http.delete(f"/connectors/{name}")


def test_without_a_queue_the_page_says_which_setting_names_one(worker: WorkerProcess, open_page: Open) -> None:
    page = open_page(at(worker, "connector/orders-out/dead-letters"))
    expect(page.get_by_text("errors.deadletterqueue.topic.name")).to_be_visible()
