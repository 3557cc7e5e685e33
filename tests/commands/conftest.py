"""The commands against a cluster in memory that listens at a port: real herders, real plugins, no Kafka."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from click.testing import Result
from typer.testing import CliRunner

from penstock import cli
from penstock.declarative import rollout
from penstock.http.client import Client
from penstock.observe import LogLevels
from support.log_levels import levels_kept
from support.rest.cluster import RestCluster
from support.rest.server import serve

Run = Callable[..., Result]

CONFIG = {"connector.class": "FileStreamSource", "topic": "t", "file": "f"}


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed connector is watched for a shorter time."""
    monkeypatch.setattr(rollout, "SETTLED_S", 0.3)
    monkeypatch.setattr(rollout, "LOOK_S", 0.05)


@pytest.fixture
def cluster() -> Iterator[RestCluster]:
    with ThreadPoolExecutor(2) as pool, levels_kept():
        cluster = RestCluster(pool, LogLevels())
        cluster.start("one")
        yield cluster


@pytest.fixture
def url(cluster: RestCluster) -> Iterator[str]:
    with serve(cluster.app("one")) as url:
        yield url


@pytest.fixture
def penstock(url: str) -> Run:
    """Runs ``penstock`` with these arguments; the worker is the cluster's."""
    runner = CliRunner(env={"PENSTOCK_URL": url, "PENSTOCK_USER": None, "COLUMNS": "200"})

    def run(*arguments: str, input: str | None = None) -> Result:
        return runner.invoke(cli.app, arguments, input=input)

    return run


@pytest.fixture
def worker(url: str) -> Iterator[Client]:
    with Client(url) as worker:
        yield worker


@pytest.fixture
def source(worker: Client) -> None:
    worker.create("orders", CONFIG)


@pytest.fixture
def sink(worker: Client) -> None:
    worker.create("lines out", {"connector.class": "FileStreamSink", "topics": "t", "file": "f"})
