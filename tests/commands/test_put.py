"""Behaviour of `penstock run` while a worker is too busy to answer."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future

import httpx
import pytest

from commands.conftest import CONFIG
from penstock.core.model import messages as m
from penstock.http.app import Timeouts, make_router
from penstock.http.client import Client
from penstock.http.client_errors import WorkerError
from penstock.trial import put as module
from penstock.trial.put import Put
from support.rest.cluster import RestCluster, Submitted
from support.rest.server import serve
from support.waiting import until

SECONDS = 900


@pytest.fixture
def unanswered() -> list[m.Request]:
    """Requests that the worker received and has not answered."""
    return []


@pytest.fixture
def busy(cluster: RestCluster, unanswered: list[m.Request]) -> Iterator[Client]:
    """A client of a worker that carries out the second PUT but is too busy to answer the first."""

    def submit(request: m.Request) -> Submitted:
        if isinstance(request, m.PutConfig) and not unanswered:
            unanswered.append(request)
            return Future()
        return cluster.submit("one", request)

    app = make_router(submit, httpx.AsyncClient(verify=False), timeouts=Timeouts(request=0.1))
    with serve(app) as url, Client(url) as client:
        yield client


def test_a_configuration_is_given_again_when_no_answer_comes(busy: Client, unanswered: list[m.Request]) -> None:
    put = Put(busy, "c", CONFIG)
    until(put.done, "an answer", SECONDS)
    put.result()
    assert (put.late, len(unanswered)) == (True, 1)
    assert busy.connectors() == ["c"]


def test_in_the_end_it_is_said_that_none_came(busy: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0)
    put = Put(busy, "c", CONFIG)
    until(put.done, "an answer", SECONDS)
    with pytest.raises(WorkerError, match=r"^Request timed out$"):
        put.result()


def test_an_invalid_configuration_is_not_retried(worker: Client) -> None:
    put = Put(worker, "c", {**CONFIG, "value.converter": "Nope"})
    until(put.done, "an answer", SECONDS)
    with pytest.raises(WorkerError, match="Class Nope could not be found"):
        put.result()
    assert not put.late
