"""A rollback as soon as a change has been read, however late the history is written."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from penstock.core.model import messages as m
from penstock.core.model.events import ConfigRead
from penstock.core.model.records import ConfigRecord, ConnectorConfig
from penstock.worker.monitoring import history
from penstock.worker.monitoring.history import History


class Slow:
    """A history topic that takes entries and has written none yet."""

    def append(self, entries: Any, done: Any) -> None: ...


@pytest.mark.parametrize("leads", [True, False])
def test_a_rollback_right_after_a_change_goes_back_one_version(leads: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "now_ms", lambda: 1000)
    kept = History(3_600_000, lambda: leads)
    kept._store = Slow()  # type: ignore[assignment]
    kept._caught_up()
    for number in (1, 2, 3):
        change = ConfigRecord(number, ConnectorConfig("c", {"x": str(number)}), 1000 + number)
        kept.observe(ConfigRead((change,)))
    submitted: list[Any] = []

    def submit(request: Any) -> Future[Any]:
        submitted.append(request)
        return Future()

    kept.submit(m.RollBack("c", None), submit)
    kept.submit(m.RollBack("c", 1), submit)
    assert [each.config for each in submitted] == [{"x": "2"}, {"x": "1"}]
