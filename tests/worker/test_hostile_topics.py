"""Hostile records in the internal topics, before a worker starts and while it runs: it continues to work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.kafka.client import Kafka, Record
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.security]

LONG = "n" * 40_000
FILE = '"connector.class":"FileStreamSource","topic":"t","file":"/nowhere"'
DEEP = b"[" * 900 + b"]" * 900


def restarts(task: object, count: object, failed: object, requested: object) -> str:
    counts = f'{{"task":{task},"count":{count},"failed":{failed},"requested":{requested}}}'
    return f'{{"penstock.restart.policy":{{"now":[{counts}],"others":[]}}}}'


def topic(task: object, discovered: object) -> str:
    return f'{{"topic":{{"name":"t","connector":"good","task":{task},"discoverTimestamp":{discovered}}}}}'


CONFIG = [
    Record(f'{{"properties":{{{FILE}}}}}', f"connector-{LONG}"),
    Record('{"properties":{}}', f"task-{LONG}-0"),
    Record('{"tasks":1}', f"commit-{LONG}"),
    Record('{"properties":{"a":"\\ud800"}}', "connector-halves"),
    Record('{"properties":{"connector.class":"\\ud800\\u001b[2J\\n"}}', "connector-odd\U0001f600"),
    Record(b'{"properties":{"connector.class":"FileStreamSource"}}', b"connector-\xff\xfe\x00\x1b"),
    Record(f'{{"properties":{{{FILE},"tasks.max":"2147483647"}}}}', "connector-many"),
    Record(b'{"properties":' + DEEP + b"}", "connector-deep"),
    Record(b'{"properties":{"a":' + DEEP + b"}}", "connector-deeper"),
    Record('{"properties":{"name":"another",' + FILE + "}}", "connector-renamed"),
    Record('{"properties":{"a":1,"a":2,"a":null}}', "connector-twice"),
    Record("{}", "connector-"),
    Record('{"properties":{}}', "connector-"),
    Record('{"tasks":2147483648}', "commit-many"),
    Record('{"tasks":-1}', "commit-many"),
    Record('{"tasks":1e300}', "commit-many"),
    Record('{"tasks":NaN}', "commit-many"),
    Record('{"task-count":2147483647}', "tasks-fencing-many"),
    Record('{"properties":{}}', "task-many--1"),
    Record('{"properties":{}}', "task-many-2147483647"),
    Record('{"properties":{}}', "task-many-99999999999999999999"),
    Record('{"key":"","algorithm":"HmacSHA256","creation-timestamp":1}', "session-key"),
    Record('{"key":"AAAA","algorithm":"none","creation-timestamp":99999999999999999999}', "session-key"),
    Record('{"key":"AAAA","algorithm":"none","creation-timestamp":9223372036854775807}', "session-key"),
    Record('{"include-tasks":"yes","only-failed":7}', "restart-connector-many"),
    Record('{"include-tasks":true,"only-failed":false}', "restart-connector-unknown"),
    Record(restarts(-7, "1e99", 1, 2), "restart-connector-many"),
    Record(restarts(-7, 2**63 - 1, -(2**63), 2**63 - 1), "restart-connector-many"),
    Record('{"state":"EXPLODED"}', "target-state-many"),
    Record('{"state":"PAUSED","state.v2":["STOPPED"]}', "target-state-many"),
    Record('{"level":"LOUD"}', "logger-cluster-root"),
    Record('{"level":"DEBUG"}', f"logger-cluster-{LONG}"),
    Record(None, "restart-connector-many"),
    Record(None, "session-key"),
    Record(b"\xff\xfe", b"\xff"),
    Record(b"9" * 10_000, "connector-number"),
    Record("{}", "something-new-of-a-later-version"),
]  # fmt: skip
STATUS = [
    Record('{"state":"RUNNING","generation":1,"worker_id":"w:1","trace":null}', f"status-connector-{LONG}"),
    Record('{"state":"RUNNING","generation":99999999999999999999,"worker_id":"w:1"}', "status-connector-good"),
    Record('{"state":"RUNNING","generation":7,"worker_id":"\\ud800","trace":"\\ud800"}', "status-connector-good"),
    Record('{"state":"RUNNING","generation":NaN,"worker_id":7}', "status-connector-good"),
    Record('{"state":"FAILED","generation":-5,"worker_id":"w:1","trace":"\\u001b[2J"}', "status-task-good-9999"),
    Record('{"state":"RUNNING","generation":1,"worker_id":"w:1"}', "status-task-good--1"),
    Record(b'{"topic":' + DEEP + b"}", "status-topic-t:connector-good"),
    Record(topic("1e300", 1), "status-topic-t:connector-good"),
    Record(topic(-4, -(2**63)), "status-topic-t:connector-good"),
    Record(b"\xff", b"\xff"),
]  # fmt: skip
OFFSET = [
    Record('{"position":1e999}', '["good",{"filename":"x"}]'),
    Record('{"position":"\\ud800"}', '["good",{"filename":"\\ud800"}]'),
    Record(b"[1]", '["good",{"filename":"y"}]'),
    Record(b"\xff", b"\xff"),
    Record(b'{"a":' + DEEP + b"}", b'["good",{"a":' + DEEP + b"}]"),
    Record("{}", '["good",7]'),
    Record("{}", '[7,{"a":1}]'),
    Record("NaN", '["good",{"filename":NaN}]'),
    Record('{"position":99999999999999999999999999}', '["good",{"filename":99999999999999999999999999}]'),
]
POISON = {"config": CONFIG, "status": STATUS, "offset": OFFSET}


def poison(kafka: Kafka, worker: WorkerProcess) -> None:
    for kind, records in POISON.items():
        kafka.produce(f"{worker.name}-{kind}", records)


@pytest.fixture(scope="module")
def kafka(bootstrap: str) -> Kafka:
    return Kafka(bootstrap)


@pytest.fixture(scope="module")
def worker(bootstrap: str, kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """A worker whose topics have hostile records before it starts."""
    made = WorkerProcess(bootstrap, tmp_path_factory.mktemp("hostile"), exactly__once__source__support="disabled")
    for kind in POISON:
        kafka.create_topic(f"{made.name}-{kind}", config={"cleanup.policy": "compact"})
    poison(kafka, made)
    with made:
        yield made


def works(worker: WorkerProcess, kafka: Kafka, folder: Path, name: str) -> None:
    """The worker copies a file to a topic, lists all connectors, and can restart and delete one."""
    given, topic = folder / f"{name}.txt", kafka.create_topic()
    given.write_text("one\ntwo\n")
    worker.put(name, connector__class="FileStreamSource", file=str(given), topic=topic)
    worker.running(name)
    until(lambda: [each.value for each in kafka.read_all(topic)] == [b"one", b"two"], "two lines")
    assert name in worker.get("/connectors")
    assert name in worker.get("/connectors?expand=info&expand=status")
    until(lambda: worker.get(f"/connectors/{name}/offsets")["offsets"], "its offset is committed")
    assert worker.http.post(f"/connectors/{name}/restart?includeTasks=true").status_code in (202, 204)
    worker.running(name)
    assert worker.http.delete(f"/connectors/{name}").status_code == 204


def test_a_worker_starts_on_hostile_records_and_works(worker: WorkerProcess, kafka: Kafka, tmp_path: Path) -> None:
    works(worker, kafka, tmp_path, "good")
    assert not any(len(name) > 1024 for name in worker.get("/connectors"))
    log = worker.log.read_text()
    assert "of the config topic, key `connector-nnn" in log
    assert "has 40000 bytes; 1024 are accepted" in log
    assert "n" * 1000 not in log


def test_hostile_records_that_arrive_later_are_ignored(worker: WorkerProcess, kafka: Kafka, tmp_path: Path) -> None:
    poison(kafka, worker)
    works(worker, kafka, tmp_path, "better")
    assert worker.http.get("/health").status_code == 200


@pytest.mark.parametrize(
    ("name", "setting", "limit"),
    [
        (LONG, {}, "1024 are accepted"),
        ("\u00e9" * 600, {}, "1024 are accepted"),
        ("many", {"tasks.max": "10001"}, "Value must be no more than 10000"),
        ("large", {"x": "y" * 1_100_000}, "1044480 are accepted"),
    ],
)
def test_requests_beyond_a_limit_are_400_with_the_limit(
    worker: WorkerProcess, name: str, setting: dict[str, str], limit: str
) -> None:
    config = {"connector.class": "FileStreamSource", "topic": "t", "file": "/nowhere", **setting}
    answers = [worker.http.post("/connectors", json={"name": name, "config": config})]
    if len(name) < 5000:
        answers.append(worker.http.put(f"/connectors/{name}/config", json=config))
    for answer in answers:
        assert answer.status_code == 400, answer.text[:500]
        assert limit in answer.json()["message"]
        assert len(answer.content) < 3000


def test_a_very_long_path_is_refused(worker: WorkerProcess) -> None:
    answer = worker.http.put(f"/connectors/{LONG}/config", json={"connector.class": "FileStreamSource", "topic": "t"})
    assert answer.status_code in (400, 414, 431)
