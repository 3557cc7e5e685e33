"""``/penstock/v1/connectors/{name}/skips``: what a request must be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.observe import AUDIT

ONE = "/penstock/v1/connectors/c/skips"
SKIP = {"topic": "t", "partition": 0, "offsets": [7, "10-12", "12-14"]}


@pytest.fixture
def sink(api: Any) -> Any:
    config = {"connector.class": "FileStreamSink", "topics": "t", "file": "/tmp/x"}
    assert api.put("/connectors/c/config", json=config).status_code == 201
    return api


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ([], "A skip must be a JSON object with the members topic, partition, offsets, to, restart"),
        ({"record": []}, "unknown member 'record'"),
        ({"topic": ""}, "'topic' must be the name of a topic"),
        ({"topic": 1}, "'topic' must be the name of a topic"),
        ({"partition": "0"}, "'partition' must be the number of a partition"),
        ({"partition": 2**31}, "'partition' must be the number of a partition"),
        ({"offsets": []}, "'offsets' must be a list of 1 to 100 offsets and ranges"),
        ({"offsets": ["3-1"]}, "Each of 'offsets' must be an offset such as 7"),
        ({"offsets": [-1]}, "Each of 'offsets' must be an offset such as 7"),
        ({"to": "nowhere"}, "'to' must be one of dead-letters, discard"),
        ({"restart": "no"}, "'restart' must be true or false"),
    ],
)
def test_a_skip_that_is_wrong(api: Any, body: Any, said: str) -> None:
    answer = api.post(ONE, json={**SKIP, **body} if isinstance(body, dict) else body)
    assert answer.status_code == 400
    assert said in answer.json()["message"]


def test_skips_are_stored_listed_and_forgotten(sink: Any) -> None:
    answer = sink.post(ONE, json=SKIP)
    assert answer.status_code == 202
    spans = [{"topic": "t", "partition": 0, "first": a, "last": b, "to": "dead-letters"} for a, b in ((7, 7), (10, 14))]
    assert answer.json() == {"connector": "c", "skips": spans, "restarted": True}
    assert sink.get(ONE).json() == {"connector": "c", "skips": spans}
    events = sink.get("/penstock/v1/connectors/c/events").json()["events"]
    assert {(e["topic"], e["first"], e["last"], e["to"]) for e in events if e["kind"] == "skip"} == {
        ("t", 7, 7, "dead-letters"),
        ("t", 10, 14, "dead-letters"),
    }
    assert sink.delete(ONE).status_code == 204
    assert sink.get(ONE).json() == {"connector": "c", "skips": []}


def test_the_audit_log_names_the_records(sink: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", AUDIT):
        assert sink.post(ONE, json=SKIP).status_code == 202
    (line,) = [json.loads(each.getMessage()) for each in caplog.records if each.name == AUDIT]
    spans = [[7, 7], [10, 14]]
    assert line["records"] == {"topic": "t", "partition": 0, "spans": spans, "to": None, "restart": True}
