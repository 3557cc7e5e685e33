"""A short run of ``make fuzz``: random requests of three roles and a stranger, random bytes, real sockets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings

from fuzz import forbidden
from fuzz.attack import attack
from fuzz.target import CANARY, MAY_SEE_SECRETS, PLANTED, USERS, target
from penstock.core.model import messages as m
from penstock.http.openapi.document import OPERATIONS
from penstock.http.router import render
from penstock.http.routes.worker import ALIVE

pytestmark = [pytest.mark.slow, pytest.mark.security]


def test_nobody_gets_what_is_not_theirs_and_every_change_is_recorded(tmp_path: Path) -> None:
    with target(tmp_path) as place:
        found = attack(place, 300, seed=21)
    assert found.problems() == []
    assert found.changes > 5
    assert found.refusals > 20
    assert found.attacks.total() > 90
    assert len(found.attacks) > 20
    assert found.health


def test_the_run_notices_a_leak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.http.access.masking.masked", lambda config, *_: config)
    with target(tmp_path) as place:
        found = attack(place, 300, seed=39)
    assert found.leaks
    assert not any(each.startswith(f"{user} ") for each in found.leaks for user in MAY_SEE_SECRETS)


def test_the_run_notices_an_attack_that_is_not_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.core.config.permissions.rules.Permissions.problems", lambda *_: [])
    with target(tmp_path) as place:
        found = attack(place, 300, seed=18)
    assert any("it is not refused" in each for each in found.accepted)
    assert any("a configuration has changed" in each for each in found.accepted)


def test_the_configurations_that_attacks_change_are_accepted_without_them(tmp_path: Path) -> None:
    with target(tmp_path) as place:
        assert [(each, problem) for each in forbidden.ALL if (problem := place.judged(each))] == []


def test_every_path_by_its_schema_hides_secrets(tmp_path: Path) -> None:
    """Requests without a user are refused on every path, but for probes of liveness."""
    saw, let_in = set(), set()
    with target(tmp_path) as place:
        schema = schemathesis.openapi.from_url(f"{place.url}openapi.json", auth=("ada", "right"))
        for operation in (each for each in OPERATIONS if not each.endswith("/stream")):
            method, path = operation.split()
            place.plant()
            for case in _cases(schema[path][method].as_strategy()):
                for user in (*USERS, None):  # the user with the most permissions comes last
                    answer = case.call(base_url=place.url, auth=user and (user, "right"), timeout=900)
                    assert answer.status_code != 500, (operation, user, answer.text)
                    saw |= {user} if CANARY in answer.text else set()
                    let_in |= {user} if answer.status_code != 401 and ALIVE not in answer.text else set()
        in_the_log = [text for text in place.lines.texts if CANARY in text]
    assert in_the_log == []
    assert saw == MAY_SEE_SECRETS
    assert let_in == set(USERS)


def _cases(strategy: Any) -> list[Any]:
    found = []

    @given(strategy)
    @settings(max_examples=2, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    def make(case: Any) -> None:
        if "name" in case.path_parameters:
            case.path_parameters["name"] = PLANTED
        found.append(case)

    make()
    return found


@pytest.mark.parametrize("value", [10**30, -(2**63) - 1, "\ud800"])
def test_answers_have_numbers_and_texts_that_orjson_has_not(value: object) -> None:
    assert render(m.Reply(200, {"offset": value})).status_code == 200
