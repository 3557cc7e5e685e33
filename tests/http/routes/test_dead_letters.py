"""``/penstock/v1/connectors/{name}/dead-letters``: what a request must be; queues are read in ``tests/ui``."""

from __future__ import annotations

from typing import Any

import pytest

ONE = "/penstock/v1/connectors/c/dead-letters"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ([], "A replay must be a JSON object with the members records, topic, dry_run"),
        ({"record": []}, "unknown member 'record'"),
        ({"records": []}, "'records' must be a list of records"),
        ({"records": [1]}, "'records' must be a list of records"),
        ({"records": ["q-0-1"] * 501}, "501 records; 500 are accepted"),
        ({"topic": ""}, "'topic' must be the name of a topic"),
        ({"dry_run": "yes"}, "'dry_run' must be true or false"),
    ],
)
def test_a_replay_that_is_wrong(api: Any, body: Any, said: str) -> None:
    answer = api.post(f"{ONE}/replay", json=body)
    assert answer.status_code == 400
    assert said in answer.json()["message"]


@pytest.mark.parametrize("place", ["x/0", "0/x", "-1/0", "0/-1", f"0/{'9' * 19}", "99999999999/0"])
def test_a_place_that_is_none(api: Any, place: str) -> None:
    assert api.get(f"{ONE}/{place}").status_code == 404


def test_answers(api: Any) -> None:
    assert api.get(f"{ONE}?limit=3").json()["queue"] is None
    assert api.get(f"{ONE}/0/42?decoded=true").json()["record"] == "dead-0-42"
    assert api.post(f"{ONE}/replay", json={"records": ["dead-0-42"]}).json()["complete"] is True
    assert api.get(f"{ONE}?limit=many").status_code == 400
