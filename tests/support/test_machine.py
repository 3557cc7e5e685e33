from __future__ import annotations

from pathlib import Path

import pytest

from penstock.embedded.home import EmbeddedError
from support import jars
from support.machine import missing

IN_CI = pytest.mark.parametrize(("ci", "outcome"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])


@IN_CI
def test_what_is_missing_skips_a_test_but_fails_it_in_ci(
    monkeypatch: pytest.MonkeyPatch, ci: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="There is no PostgreSQL"):
        missing("There is no PostgreSQL on this machine")


@IN_CI
def test_a_missing_jar_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ci: str, outcome: type[BaseException]
) -> None:
    def unreachable(*_: object) -> list[Path]:
        raise EmbeddedError("the repository can't be reached")

    monkeypatch.setattr(jars, "ensure", unreachable)
    monkeypatch.setenv("CI", ci)
    (tmp_path / "some.jars").write_text("00 group:artifact:1\n")
    with pytest.raises(outcome, match="no jars for this test: the repository can't be reached"):
        jars.require(tmp_path / "some.jars")
