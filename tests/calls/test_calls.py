"""The probes on our workers: which calls are made, compared with what Java Connect did."""

from __future__ import annotations

import tomllib
import uuid
from collections.abc import Iterator
from fnmatch import fnmatchcase

import pytest

from calls.cells import Cells, differences
from calls.drive import MODES, WORKERS, Subject, observe
from calls.workers import HERE, JAVA, PYTHON, environment_folder, jar_folder, observed, workers
from penstock.embedded.home import EmbeddedError
from support.kafka.client import Kafka
from support.machine import missing

pytestmark = [pytest.mark.integration, pytest.mark.slow]

ISOLATED = {**PYTHON, **{kind: PYTHON[kind].replace("calls_probe", "isolated_probe") for kind in ("source", "sink")}}
HOSTS = {"jar": JAVA, "Python": PYTHON, "Python environment": ISOLATED}
Case = tuple[str, str]
CASES: list[Case] = [(mode, host) for mode in MODES for host in HOSTS]


@pytest.fixture(scope="module")
def ours(bootstrap: str, kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Case, Cells]]:
    """The cells of all modes, on three workers at once."""
    folder = tmp_path_factory.mktemp("calls")
    try:
        path = f"{jar_folder(folder)},{HERE / 'plugin'},{environment_folder(folder)}"
    except EmbeddedError as error:
        missing(f"no jars for this test: {error}")
    with workers("ours", bootstrap, folder, path, WORKERS) as started:
        subjects: dict[Case, Subject] = {}
        for mode, host in CASES:
            own = folder / f"p{uuid.uuid4().hex[:8]}"
            own.mkdir()
            (own / "host").write_text(host)
            topic = kafka.create_topic(partitions=2)
            subjects[mode, host] = Subject(mode, started[MODES[mode][1]].http, HOSTS[host], own, topic)
        observe(list(subjects.values()), kafka)
        yield {case: subject.cells() for case, subject in subjects.items()}


def known() -> list[dict[str, str]]:
    return tomllib.loads((HERE / "differences.toml").read_text("utf-8"))["difference"]


def found(cells: Cells, mode: str, host: str) -> Iterator[dict[str, str]]:
    """Return the cells that differ from Java's."""
    for state, call, aspect, java, here in differences(observed()[mode], cells):
        given = {"mode": mode, "host": host, "state": state, "call": call, "aspect": aspect}
        yield {**given, "ours": here, "java": java}


def covers(entry: dict[str, str], cell: dict[str, str]) -> bool:
    return all(fnmatchcase(cell[key], pattern) for key, pattern in entry.items() if key != "why")


@pytest.mark.parametrize(("mode", "host"), CASES, ids=[", ".join(case) for case in CASES])
def test_the_calls_are_those_of_java(ours: dict[Case, Cells], mode: str, host: str) -> None:
    cells = found(ours[mode, host], mode, host)
    assert [cell for cell in cells if not any(covers(entry, cell) for entry in known())] == []


def test_every_listed_difference_is_there(ours: dict[Case, Cells]) -> None:
    cells = [cell for (mode, host), seen in ours.items() for cell in found(seen, mode, host)]
    assert [entry for entry in known() if not any(covers(entry, cell) for cell in cells)] == []
