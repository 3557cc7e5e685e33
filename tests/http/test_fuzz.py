"""A short run of ``make fuzz``: random requests of three roles and a stranger, random bytes, real sockets."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.attack import attack
from fuzz.target import MAY_SEE_SECRETS, target
from penstock.core.model import messages as m
from penstock.http.router import render


def test_nobody_gets_what_is_not_theirs_and_every_change_is_recorded(tmp_path: Path) -> None:
    with target(tmp_path) as place:
        found = attack(place, 300, seed=18)
    assert found.problems() == []
    assert found.changes > 5
    assert found.refusals > 20
    assert found.health


def test_the_run_notices_a_leak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.http.access.gate.masked", lambda config: config)
    with target(tmp_path) as place:
        found = attack(place, 100, seed=18)
    assert found.leaks
    assert not any(each.startswith(f"{user} ") for each in found.leaks for user in MAY_SEE_SECRETS)


@pytest.mark.parametrize("value", [10**30, -(2**63) - 1, "\ud800"])
def test_answers_have_numbers_and_texts_that_orjson_has_not(value: object) -> None:
    assert render(m.Reply(200, {"offset": value})).status_code == 200
