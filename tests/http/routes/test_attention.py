"""``/penstock/v1/attention``: rows from the states of connectors, and those that only other workers know."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import bcrypt
import httpx
import pytest

from penstock.core.attention.flapping import End
from penstock.core.attention.rows import KINDS, NextStep, Row
from penstock.core.config.attention import MUTABLE
from penstock.core.model import messages as m
from penstock.core.model.tasks import TaskId
from penstock.http.access.gate import authentication, gate
from penstock.http.openapi import schemas
from penstock.worker.monitoring.attention import Attention, OwnRows
from support.rest.cluster import RestCluster

PATH = "/penstock/v1/attention"
CONFIG = {"connector.class": "FileStreamSource", "topic": "t", "file": "f"}
STANDS = Row("standstill", "it does not move", NextStep("look", "penstock status"), "orders", since_ms=1000)


def rows(api: Any) -> list[dict[str, Any]]:
    answer = api.get(PATH)
    assert answer.status_code == 200
    found: list[dict[str, Any]] = answer.json()["rows"]
    return found


def create(cluster: RestCluster, *names: str) -> None:
    for name in names:
        cluster.submit("one", m.CreateConnector(name, {"name": name, **CONFIG})).result()


def test_a_healthy_cluster_needs_no_attention(api: Any, other: Any, cluster: RestCluster) -> None:
    create(cluster, "orders")
    assert rows(api) == rows(other) == []


def test_failures_and_pauses_are_listed_by_every_worker(api: Any, other: Any, cluster: RestCluster) -> None:
    create(cluster, "orders", "payroll")
    cluster.fail(TaskId("orders", 0), "a.B: no\nCaused by: java.io.IOException: disk full")
    cluster.submit("one", m.SetTargetState("payroll", "PAUSED")).result()
    for worker in (api, other):
        failed, paused = rows(worker)
        assert (failed["kind"], failed["connector"], failed["tasks"]) == ("failed", "orders", [0])
        assert failed["why"] == "java.io.IOException: disk full"
        command = "penstock restart orders --include-tasks --only-failed"
        assert failed["next"] == {"text": failed["next"]["text"], "command": command, "action": "restart-failed"}
        assert (paused["kind"], paused["connector"], paused["next"]["action"]) == ("paused", "payroll", "resume")


def test_rows_of_other_workers_are_listed(api: Any, other: Any, cluster: RestCluster) -> None:
    create(cluster, "orders")
    cluster.own_rows["two"] = OwnRows((STANDS,))
    assert rows(api) == rows(other) == [STANDS.to_json()]
    cluster.own_rows["one"] = OwnRows(busy=frozenset({"orders"}))
    assert rows(api) == rows(other) == []


def test_a_task_that_fails_again_and_again_is_named_though_it_runs(api: Any, other: Any, cluster: RestCluster) -> None:
    create(cluster, "orders")
    end = "java.io.IOException: no route to host"
    cluster.ends = {("orders", 0): [End(time, end) for time in (1000, 2000, 3000)]}
    for worker in (api, other):
        (row,) = rows(worker)
        assert (row["kind"], row["tasks"], row["since"]) == ("flapping", [0], "1970-01-01T00:00:01Z")
        assert row["why"] == f"It has failed or was lost 3 times within the last hour, the last time with: {end}"


def test_workers_of_different_versions_are_named(api: Any, cluster: RestCluster) -> None:
    cluster.versions["two"] = "2"
    (row,) = rows(api)
    assert (row["kind"], row["connector"]) == ("versions", None)
    assert row["why"] == "The workers have different versions: one has 1, two has 2"


def test_a_worker_that_does_not_answer_is_named_with_the_time(api: Any, cluster: RestCluster) -> None:
    create(cluster, "orders")
    membership = cluster.workers["one"].herder.membership
    assert membership.owners is not None
    membership.owners = replace(membership.owners, workers=(*membership.owners.workers, "http://gone:8083/"))
    (row,) = rows(api)
    assert (row["kind"], row["worker"], row["connector"]) == ("unreachable", "gone:8083", None)
    assert row["since"] is not None


def test_an_answer_of_another_form_is_not_taken_for_an_empty_one(api: Any, cluster: RestCluster) -> None:
    cluster.own_rows["two"] = OwnRows((replace(STANDS, since_ms=None, tasks=("x",)),))  # type: ignore[arg-type]
    (row,) = rows(api)
    assert (row["kind"], row["worker"]) == ("unreachable", "two")


def test_users_get_rows_of_connectors_that_they_may_view(cluster: RestCluster, tmp_path: Path) -> None:
    create(cluster, "orders", "payroll")
    for name in ("orders", "payroll"):
        cluster.fail(TaskId(name, 0), "java.io.IOException: disk full")
    cluster.own_rows["two"] = OwnRows((STANDS, replace(STANDS, connector="payroll")), frozenset({"payroll"}))
    cluster.versions["two"] = "2"
    hashed = bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode()
    (tmp_path / "htpasswd").write_text("".join(f"{user}:{hashed}\n" for user in ("victor", "nobody")))
    (tmp_path / "roles.yaml").write_text('rules: [{users: [victor], connectors: ["orders*"], actions: [view]}]')
    config = {
        "penstock.authentication.htpasswd": str(tmp_path / "htpasswd"),
        "penstock.authorization.file": str(tmp_path / "roles.yaml"),
    }
    guard = authentication(config, {})
    app = cluster.app("two", guard=guard, gate=gate(config, guard))

    def get(path: str, user: str) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://two", auth=(user, "right")) as client:
                return await client.get(path)

        return asyncio.run(ask())

    seen = get(PATH, "victor").json()["rows"]
    assert {row["connector"] for row in seen} == {"orders", None}
    assert seen[0]["next"]["action"] is None  # a restart needs `operate`
    here = get(f"{PATH}?here=true", "victor").json()
    assert ([row["connector"] for row in here["rows"]], here["busy"]) == (["orders"], [])
    assert get(PATH, "nobody").status_code == 403


@pytest.mark.parametrize("query", ["", "?here=true"])
def test_the_answer_has_the_form_of_the_openapi_document(api: Any, cluster: RestCluster, query: str) -> None:
    create(cluster, "orders")
    cluster.own_rows["one"] = OwnRows((STANDS,), frozenset({"payroll"}))
    shown = api.get(f"{PATH}{query}").json()
    schema = schemas.SCHEMAS["Attention"]
    assert shown.keys() <= schema["properties"].keys()
    row = schema["properties"]["rows"]["items"]
    assert [each.keys() for each in shown["rows"]] == [row["properties"].keys()]
    assert list(KINDS) == row["properties"]["kind"]["enum"]


def test_a_muted_kind_hides_no_other(api: Any, cluster: RestCluster) -> None:
    create(cluster, "orders")
    cluster.submit("one", m.PatchConfig("orders", {"penstock.attention.muted": "standstill"}))
    behind = replace(STANDS, kind="behind")
    cluster.own_rows["two"] = OwnRows((replace(STANDS, kind="standstill"), behind))
    assert rows(api) == [behind.to_json()]


def test_rows_that_cannot_be_made_are_shown_as_unknown(cluster: RestCluster) -> None:
    def fails() -> list[Row]:
        raise ValueError("no rows")

    herder = cluster.workers["one"].herder
    shown = Attention(herder, lambda: OwnRows((STANDS,)), (fails, lambda: [STANDS])).here()["rows"]
    assert [row["kind"] for row in shown] == [STANDS.kind, "unknown", STANDS.kind]
    assert shown[1]["why"] == "Some problems that only worker one knows could not be found: ValueError: no rows"


def test_the_kinds_that_can_be_muted_are_kinds() -> None:
    assert set(MUTABLE) < set(KINDS)
    assert not {"failed", "unreachable", "unknown", "retrying", "stalled"} & set(MUTABLE)
