"""A connector of a jar reads the offsets of its tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock.hosts.jvm.plugins.catalogue import find
from penstock.hosts.jvm.process import JvmSpec
from penstock.hosts.jvm.session import Session

pytestmark = pytest.mark.integration


def offset_of(args: Any, payload: Any) -> list[Any]:
    return [{"next": 4} if each is None else None for each in args]


@pytest.mark.parametrize(("asked", "found"), [("null", "{next=4}"), ("0", "null")])
def test_the_source_partition_may_be_null(
    open_sessions: Callable[..., Session], jvm_spec: JvmSpec, conduct: str, tmp_path: Path, asked: str, found: str
) -> None:
    catalogue = find((conduct,), None)
    assert catalogue is not None
    spec = replace(jvm_spec, settings={"catalogue": str(catalogue.file), "linger.ms": 1000})
    session = open_sessions(spec=spec, callbacks={"connector.offsets": offset_of})
    session.call("connector.create", {"class": "penstock.tests.ConductSource", "version": "1.2.3"})
    config = {"topic": "t", "journal": str(tmp_path / "journal"), "look.up": asked}
    session.call("connector.start", {"name": "n", "config": config})
    assert f"looked.up {found}" in (tmp_path / "journal").read_text().splitlines()
