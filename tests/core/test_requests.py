"""Requests whose failures are logged without configurations, which may have passwords; and ``tasks.max`` in them."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api.errors import ConnectError
from penstock.core.model import actions as a
from penstock.core.model import events as e
from penstock.core.model import messages as m
from penstock.core.model.records import ConnectorConfig
from simulation.cluster import Cluster
from simulation.worker import Worker


class Refusing(Cluster):
    """The config topic takes no configuration of a connector."""

    def __init__(self) -> None:
        super().__init__([].append)
        self.logged: list[str] = []

    def _carry_out(self, worker: Worker, action: a.Action) -> None:
        match action:
            case a.Log(_, text):
                self.logged.append(text)
            case a.AppendConfig(records=(ConnectorConfig(),), token=token):
                self.post(worker, f"ask {token}", e.Completed(token, error=ConnectError("it is too large")))
            case _:
                super()._carry_out(worker, action)


def test_a_configuration_that_cannot_be_written_is_logged_without_secrets() -> None:
    cluster = Refusing()
    cluster.start("a")
    config: Any = {"connector.class": "Source", "password": "s3cret"}
    for request in (m.PutConfig("c", config), m.CreateConnector("c", config)):
        reply = cluster.ask("a", request)
        assert isinstance(reply, m.Reply)
        assert (reply.status, reply.body["message"]) == (500, "it is too large")
    assert [text for text in cluster.logged if "it is too large" in text] == [
        "A request ended in an error: PutConfig of c: ConnectError('it is too large')",
        "A request ended in an error: CreateConnector of c: ConnectError('it is too large')",
    ]
    assert not any("s3cret" in text for text in cluster.logged)


def test_a_name_that_is_too_long_is_logged_in_part() -> None:
    """The worker searches the line for secrets before it goes on."""
    cluster = Refusing()
    cluster.start("a")
    assert isinstance(cluster.ask("a", m.CreateConnector("n" * 100_000, {"connector.class": "Source"})), m.Reply)
    (told,) = (text for text in cluster.logged if "it is too large" in text)
    assert told == f"A request ended in an error: CreateConnector of {'n' * 500}: ConnectError('it is too large')"


@pytest.mark.parametrize("written", ["3", "+3", " 3 ", "0" * 5000 + "3", "\u0663"])
def test_tasks_max_is_read_in_any_notation(written: str) -> None:
    cluster = Cluster([].append, lambda channels: 0)
    cluster.start("a")
    cluster.send("a", m.PutConfig("c", {"connector.class": "Source", "tasks.max": written}))
    cluster.settle()
    assert len(cluster.workers["a"].herder.state.connectors["c"].task_configs) == 3
