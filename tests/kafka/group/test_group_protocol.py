"""Our bytes are Java's: golden/group_protocol.txt was written by Java Connect's own classes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.group.membership import CONFIG_MISMATCH, Assignment, Member
from penstock.core.model.tasks import TaskId
from penstock.kafka.group.protocol import (
    VERSIONS,
    decode_assignment,
    decode_metadata,
    encode_assignment,
    encode_metadata,
    offers,
)

GOLDEN = {
    name: bytes.fromhex(data)
    for name, data in (
        line.split(": ") for line in (Path(__file__).parent / "golden" / "group_protocol.txt").read_text().splitlines()
    )
}
URL = "http://worker-ä:8083/"
RUNNING = Assignment(
    connectors=("a", "b"),
    tasks=(TaskId("a", 0), TaskId("a", 1), TaskId("b", 12)),
    revoked_connectors=("c",),
    revoked_tasks=(TaskId("c", 0), TaskId("d", 7)),
    delay_ms=300_000,
    leader="connect-1-4f0f",
    leader_url=URL,
    offset=1234567890123,
)
FAILED = Assignment(leader="connect-1-4f0f", leader_url=URL, offset=5, error=CONFIG_MISMATCH)
ONLY_ASSIGNED = replace(RUNNING, revoked_connectors=(), revoked_tasks=(), delay_ms=0)


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize(("name", "assignment"), [("running", RUNNING), ("failed", FAILED)])
def test_assignments_are_javas_bytes(name: str, assignment: Assignment, version: int) -> None:
    golden = GOLDEN[f"assignment {name} v{version}"]
    assert encode_assignment(assignment, version).hex() == golden.hex()
    read = ONLY_ASSIGNED if version == 0 and assignment is RUNNING else assignment
    assert decode_assignment(golden) == replace(read, version=version)


@pytest.mark.parametrize("protocol", ["sessioned", "compatible", "default"])
def test_metadata_are_javas_bytes(protocol: str) -> None:
    version = VERSIONS[protocol]
    running = GOLDEN[f"metadata running {protocol}"]
    nothing = GOLDEN[f"metadata nothing {protocol}"]
    assert encode_metadata(URL, 41, RUNNING, version).hex() == running.hex()
    assert encode_metadata(URL, -1, None, version).hex() == nothing.hex()
    assignment = None if version == 0 else replace(RUNNING, version=version)
    assert decode_metadata("m", running) == Member("m", URL, 41, assignment)
    assert decode_metadata("m", nothing) == Member("m", URL, -1, None)


def test_a_worker_offers_its_protocol_and_all_older_ones_best_first() -> None:
    assert offers("sessioned", URL, 41, RUNNING) == [
        (name, GOLDEN[f"metadata running {name}"]) for name in ("sessioned", "compatible", "default")
    ]
    assert [name for name, _ in offers("compatible", URL, 41, None)] == ["compatible", "default"]
    assert [name for name, _ in offers("eager", URL, 41, None)] == ["default"]


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
TASKS = st.lists(st.builds(TaskId, NAMES, st.integers(0, 2**31 - 1)), unique=True, max_size=20)


@given(st.lists(NAMES, unique=True, max_size=20), TASKS, TASKS, st.integers(0, 2**31 - 1), st.sampled_from([1, 2]))
def test_protocol_messages_survive_a_round_trip(
    connectors: list[str], tasks: list[TaskId], revoked: list[TaskId], delay_ms: int, version: int
) -> None:
    written = Assignment(tuple(connectors), tuple(tasks), (), tuple(revoked), delay_ms, "l", URL, 9, 0, version)
    read = decode_assignment(encode_assignment(written, version))
    assert sorted(read.connectors) == sorted(connectors)
    assert sorted(read.tasks) == sorted(tasks)
    assert sorted(read.revoked_tasks) == sorted(revoked)
    assert replace(read, connectors=(), tasks=(), revoked_tasks=()) == replace(
        written, connectors=(), tasks=(), revoked_tasks=()
    )


@pytest.mark.parametrize("length", [0, 1, 3, 5, 20, 60, 88, -1])
def test_a_truncated_assignment_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match=r"The assignment (ends after|has a field of)"):
        decode_assignment(GOLDEN["assignment running v2"][:length])


def test_a_negative_version_is_refused() -> None:
    with pytest.raises(ValueError, match="Unsupported version -1"):
        decode_assignment(b"\xff\xff" + GOLDEN["assignment running v2"][2:])
