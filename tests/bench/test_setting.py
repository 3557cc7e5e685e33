"""Input of the cases, and the checks of their output."""

from __future__ import annotations

import json
import os
import socket
import threading
from pathlib import Path

import pytest

from bench.connect import CaseError
from bench.processes import Peak, listening
from bench.profiling import OTHER, Sampler, stage_of
from bench.setting import Setting
from bench.watch import Watch

NOWHERE = "127.0.0.1:1"


def test_lines_are_json_objects_of_about_a_hundred_bytes(tmp_path: Path) -> None:
    lines = Setting(NOWHERE, tmp_path, 100).lines().read_text().splitlines()
    assert len(lines) == len(set(lines)) == 100
    assert all(90 < len(line) < 120 for line in lines)
    assert json.loads(lines[7]).keys() == {"id", "user", "amount", "ts", "note"}


def test_other_records_than_the_first_clusters_end_the_comparison(tmp_path: Path) -> None:
    setting = Setting(NOWHERE, tmp_path, 2)
    setting.same("c", "java", [b"a", b"b"])
    setting.same("c", "penstock", [b"b", b"a"])
    with pytest.raises(CaseError, match=r"c: penstock delivered 2 records .*, java delivered 2"):
        setting.same("c", "penstock", [b"a", b"c"])
    with pytest.raises(CaseError, match="c: penstock delivered 1 records, of 2"):
        setting.same("c", "penstock", [b"a"])


def test_what_should_be_unchanged_is_compared_with_the_input(tmp_path: Path) -> None:
    setting = Setting(NOWHERE, tmp_path, 3)
    setting.same("c", "penstock", setting.lines().read_bytes().splitlines(), unchanged=True)
    with pytest.raises(CaseError, match="the input has 3"):
        setting.same("c", "penstock", [b"a", b"b", b"c"], unchanged=True)


def test_a_rate_leaves_out_what_was_there_at_the_first_look() -> None:
    watch = Watch(100, lambda: None)
    assert [watch.sees(count) for count in (0, 40, 70, 100)] == [False, False, False, True]
    assert 60 / max(watch.seconds, 0.001) <= watch.rate <= 60 / 0.001


def test_who_listens_on_a_port_is_found_with_its_memory() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert listening(server.getsockname()[1]) == os.getpid()
    with Peak(os.getpid()) as peak:
        pass
    assert peak.megabytes > 10


def test_a_thread_is_where_its_innermost_stage_is() -> None:
    code = compile("import sys\nframe = sys._getframe()", "/x/penstock/pipeline/transforms/cast.py", "exec")
    names: dict[str, object] = {}
    exec(code, names)
    assert stage_of(names["frame"]) == "transform"  # type: ignore[arg-type]
    assert stage_of(None) == OTHER


def test_waiting_before_and_after_the_records_is_left_out() -> None:
    sampler = Sampler(threading.get_ident())
    sampler.end()
    sampler.seen = [("fetch", 9.0), ("put", 1.0), ("fetch", 2.0), ("convert", 1.0), ("fetch", 9.0)]
    assert sampler.spent() == {"put": 1.0, "fetch": 2.0, "convert": 1.0}
