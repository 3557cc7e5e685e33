"""Queries on a real Spark with `penstock.paths.allowed`: links that leave the folders, whenever they were made."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.kafka.client import Kafka
from support.spark.host import Hosted
from support.spark.queries import COLUMNS, Source, ids, make

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.security]
ALLOWED = "penstock.paths.allowed"
REFUSED = "is not in the folders of `penstock.paths.allowed` of the worker"


@pytest.mark.parametrize("exactly_once", [True, False])
def test_a_source_sends_files_but_not_what_links_lead_to(
    hosted: Hosted, kafka: Kafka, tmp_path: Path, exactly_once: bool
) -> None:
    place, outside = tmp_path / "allowed place", tmp_path / "outside"
    place.mkdir()
    outside.mkdir()
    with Source(hosted, kafka, place, exactly_once, schema=COLUMNS, sql="SELECT * FROM records") as one:
        one.worker = {ALLOWED: str(place)}
        one.add("1 %41.json", *make(0, 10))
        one.start()
        assert ids(one.wait(10)) == list(range(10))
        one.batch(0)
        (outside / "secret.json").write_text('{"id": 99, "name": "secret"}\n')
        (one.folder / "2.json").symlink_to(outside / "secret.json")
        assert f"{outside}/secret.json" not in (trace := one.failure())
        assert f"{one.folder}/2.json {REFUSED}: {place}" in trace
        assert ids(one.values()) == list(range(10))
