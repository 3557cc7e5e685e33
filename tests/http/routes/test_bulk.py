"""``/penstock/v1/bulk``: actions on many connectors at once, in a cluster in memory whose workers listen at ports."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import bcrypt
import httpx
import pytest

from penstock.core.model import messages as m
from penstock.core.model.tasks import TaskId
from penstock.http.access.gate import authentication, gate
from penstock.observe import AUDIT
from support.rest.cluster import RestCluster
from support.rest.server import serve
from support.waiting import until

PATH = "/penstock/v1/bulk"
CONFIG = {"connector.class": "FileStreamSource", "topic": "t", "file": "f"}


class Bulk:
    """A client of a worker: bulk actions from their request to their end."""

    def __init__(self, url: str, auth: tuple[str, str] | None = None) -> None:
        self.http = httpx.Client(base_url=url, auth=auth, timeout=600, trust_env=False)

    def post(self, action: str, **given: Any) -> httpx.Response:
        return self.http.post(PATH, json={"action": action, **given})

    def preview(self, action: str, **given: Any) -> dict[str, tuple[str, str]]:
        answer = self.post(action, dry_run=True, **given)
        assert answer.status_code == 200, answer.text
        assert (answer.json()["id"], answer.json()["dry_run"], answer.json()["ended"]) == (None, True, True)
        return results(answer.json())

    def run(self, action: str, **given: Any) -> dict[str, Any]:
        answer = self.post(action, **given)
        assert answer.status_code == 202, answer.text
        return self.ended(answer.json()["id"])

    def ended(self, id: str) -> dict[str, Any]:
        shown: dict[str, Any] = {}

        def over() -> bool:
            shown.update(self.http.get(f"{PATH}/{id}").json())
            return bool(shown["ended"])

        until(over, f"the end of bulk action {id}")
        return shown


def results(shown: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {row["connector"]: (row["result"], row["what"]) for row in shown["connectors"]}


@pytest.fixture
def listen(cluster: RestCluster) -> Iterator[Callable[..., Bulk]]:
    with ExitStack() as stack:

        def start(worker: str = "one", auth: tuple[str, str] | None = None, **given: Any) -> Bulk:
            return Bulk(stack.enter_context(serve(cluster.app(worker, **given))), auth)

        yield start


def create(cluster: RestCluster, *names: str, **more: str) -> None:
    for name in names:
        cluster.submit("one", m.CreateConnector(name, {"name": name, **CONFIG, **more})).result()


def targets(cluster: RestCluster) -> dict[str, str]:
    state = cluster.workers["one"].herder.state
    return {name: state.target_state(name) for name in state.connectors}


@pytest.mark.parametrize("worker", ["one", "two"])
def test_a_pause_and_the_resume_of_what_it_has_paused(
    cluster: RestCluster, listen: Callable[..., Bulk], worker: str
) -> None:
    create(cluster, "orders-1", "orders-2", "orders-3", "orders-4", "clicks")
    cluster.submit("one", m.SetTargetState("orders-2", "PAUSED")).result()
    cluster.submit("one", m.StopConnector("orders-3")).result()
    bulk = listen(worker)
    assert bulk.preview("pause", connectors=["orders-*"]) == {
        "orders-1": ("change", "Pauses it"),
        "orders-2": ("none", "It is to be paused already"),
        "orders-3": ("none", "It is stopped, and processes nothing"),
        "orders-4": ("change", "Pauses it"),
    }
    assert targets(cluster)["orders-1"] == "STARTED"
    done = bulk.run("pause", connectors=["orders-*"])
    assert [each["result"] for each in done["connectors"]] == ["done", "none", "none", "done"]
    assert results(done)["orders-1"] == ("done", "Paused")
    cluster.submit("two", m.SetTargetState("orders-4", "PAUSED")).result()  # by somebody, to stay paused
    resumed = listen("two" if worker == "one" else "one").run("resume", of=done["id"])
    assert results(resumed) == {"orders-1": ("done", "Resumed")}
    assert targets(cluster) == {
        "orders-1": "STARTED", "orders-2": "PAUSED", "orders-3": "STOPPED", "orders-4": "PAUSED", "clicks": "STARTED"
    }  # fmt: skip
    assert bulk.preview("resume", of=done["id"]) == {}


@pytest.mark.parametrize("worker", ["one", "two"])
def test_a_resume_of_a_stop_does_not_start_what_was_paused_before(
    cluster: RestCluster, listen: Callable[..., Bulk], worker: str
) -> None:
    create(cluster, "ran", "paused")
    cluster.submit("one", m.SetTargetState("paused", "PAUSED")).result()
    bulk = listen(worker)
    assert bulk.preview("stop", connectors=["*"]) == {
        "paused": ("change", "Stops it; it was paused, so a resume of this action leaves it stopped"),
        "ran": ("change", "Stops it; it has no tasks then"),
    }
    id = bulk.run("stop", connectors=["*"])["id"]
    assert bulk.preview("resume", of=id) == {"ran": ("change", "Starts it, with its tasks")}
    bulk.run("resume", of=id)
    assert targets(cluster) == {"ran": "STARTED", "paused": "STOPPED"}


def test_a_stop_that_is_sent_again_still_belongs_to_its_bulk_action(cluster: RestCluster) -> None:
    create(cluster, "a")
    for _ in range(2):
        cluster.submit("one", m.StopConnector("a", bulk="0" * 12)).result()
    assert cluster.workers["one"].herder.state.target_bulks == {"a": "0" * 12}


def test_every_action_from_a_worker_that_does_not_lead(cluster: RestCluster, listen: Callable[..., Bulk]) -> None:
    create(cluster, "orders-1", "orders-2")
    bulk = listen("two")
    assert results(bulk.run("stop", connectors=["orders-1"])) == {"orders-1": ("done", "Stopped")}
    assert results(bulk.run("resume", states=["STOPPED"])) == {"orders-1": ("done", "Resumed")}
    cluster.now += 1000
    changed = bulk.run("set", connectors=["*"], settings={"batch.size": 7})
    assert results(changed) == {"orders-1": ("done", "Changed"), "orders-2": ("done", "Changed")}
    state = cluster.workers["two"].herder.state
    assert {each.config["batch.size"] for each in state.connectors.values()} == {"7"}
    assert bulk.preview("set", connectors=["orders-1"], settings={"batch.size": 7, "file": "g"}) == {
        "orders-1": ("change", "Changes its configuration; it restarts with it: file from f to g")
    }
    same = bulk.preview("set", connectors=["*"], settings={"batch.size": "7", "not.there": None})
    assert {result for result, _ in same.values()} == {"none"}
    cluster.now += 1000
    assert results(bulk.run("restart", connectors=["orders-2"])) == {"orders-2": ("done", "Restarted")}
    assert results(bulk.run("delete", connectors=["orders-1"])) == {"orders-1": ("done", "Deleted")}
    assert targets(cluster) == {"orders-2": "STARTED"}


def test_failures_have_causes_and_stop_no_other(cluster: RestCluster, listen: Callable[..., Bulk]) -> None:
    create(cluster, "a", "b")
    bulk = listen("two")
    shown = bulk.run("set", connectors=["a", "b", "nobody"], settings={"tasks.max": "many"})
    rows = {row["connector"]: row for row in shown["connectors"]}
    assert rows["a"]["result"] == rows["b"]["result"] == "failed"
    assert "tasks.max" in rows["a"]["what"]
    assert (rows["nobody"]["result"], rows["nobody"]["what"]) == ("refused", "Connector nobody not found")
    bulk.run("pause", connectors=["a", "b"])
    cluster.fail(TaskId("a", 0), "x.Y: no\nCaused by: java.io.IOException: disk full")
    rows = {row["connector"]: row for row in bulk.run("resume", connectors=["*"])["connectors"]}
    assert (rows["a"]["result"], rows["a"]["what"]) == ("failed", "Task 0 is FAILED")
    assert rows["a"]["cause"] == "java.io.IOException: disk full"
    assert rows["b"]["result"] == "done"


def test_a_connector_that_hangs_delays_no_other(cluster: RestCluster, listen: Callable[..., Bulk]) -> None:
    create(cluster, "hangs", *(f"c{i:02}" for i in range(30)))
    cluster.hanging.add(TaskId("hangs", 0))
    shown = listen().run("pause", connectors=["*"], wait_seconds=6)
    found = results(shown)
    assert found.pop("hangs") == ("late", "After 6 s: Task 0 is RUNNING")
    assert set(found.values()) == {("done", "Paused")}


def test_no_more_than_ten_actions_are_under_way_however_many_begin_at_once(
    cluster: RestCluster, listen: Callable[..., Bulk]
) -> None:
    names = [f"c{i:02}" for i in range(30)]
    create(cluster, *names)
    cluster.hanging |= {TaskId(name, 0) for name in names}
    bulk = listen()
    with ThreadPoolExecutor(30) as pool:
        started = [pool.submit(bulk.post, "pause", connectors=[name], wait_seconds=600) for name in names]
        answers = [each.result() for each in started]
    assert Counter(answer.status_code for answer in answers) == {202: 10, 429: 20}
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert refused.json()["message"] == "10 bulk actions are under way at this worker; try again later"


def test_names_without_a_connector_have_one_line_of_the_audit_log(
    listen: Callable[..., Bulk], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", AUDIT):
        done = listen().run("pause", connectors=[f"ghost-{i}" for i in range(1000)])
    assert {row["result"] for row in done["connectors"]} == {"refused"}
    lines = [json.loads(each.getMessage()) for each in caplog.records if each.name == AUDIT]
    assert [(line["status"], line["connector"], line.get("unknown")) for line in lines] == [
        (202, None, None), (404, None, 1000)
    ]  # fmt: skip


def test_the_oldest_actions_are_forgotten_where_their_names_are_long(listen: Callable[..., Bulk]) -> None:
    bulk = listen()
    names = [f"{i:0900}" for i in range(1000)]
    first, *_, last = [bulk.post("pause", connectors=names).json()["id"] for _ in range(12)]
    assert bulk.http.get(f"{PATH}/{first}").status_code == 404
    assert bulk.ended(last)["ended"]


def test_names_of_too_many_characters_are_refused(listen: Callable[..., Bulk]) -> None:
    answer = listen().post("pause", connectors=[f"{i:01500}" for i in range(1000)])
    assert (answer.status_code, answer.json()["message"]) == (
        400, "'connectors' has 1500000 characters; 1000000 are accepted"
    )  # fmt: skip


def test_the_audit_log_has_the_action_and_each_connector_with_one_id(
    cluster: RestCluster, listen: Callable[..., Bulk], caplog: pytest.LogCaptureFixture
) -> None:
    create(cluster, "a", "b")
    with caplog.at_level("INFO", AUDIT):
        id = listen("two").run("stop", connectors=["a", "b"])["id"]
    lines = [json.loads(each.getMessage()) for each in caplog.records if each.name == AUDIT]
    assert {line["bulk"] for line in lines} == {id}
    whole, *others = lines
    assert (whole["request"], whole["action"], whole["connector"]) == (f"POST {PATH} stop", "stop", None)
    # Each is in the log of the worker that was asked and in that of the leader.
    assert sorted(line["connector"] for line in others) == ["a", "a", "b", "b"]
    assert {line["request"] for line in others} == {"PUT /connectors/a/stop", "PUT /connectors/b/stop"}
    assert {line["outcome"] for line in lines} == {"done"}


def test_each_connector_needs_the_right_of_the_single_action(
    cluster: RestCluster, listen: Callable[..., Bulk], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    create(cluster, "orders", "clicks", "payroll", **{"penstock.labels.team": "x", "database.password": "pssst"})
    hashed = bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode()
    (tmp_path / "htpasswd").write_text("".join(f"{user}:{hashed}\n" for user in ("oscar", "nobody")))
    (tmp_path / "roles.yaml").write_text(
        "rules:\n"
        "- {users: [oscar], connectors: [orders], actions: [operate]}\n"
        "- {users: [oscar], connectors: [clicks], actions: [view, configure]}\n"
    )
    config = {
        "penstock.authentication.htpasswd": str(tmp_path / "htpasswd"),
        "penstock.authorization.file": str(tmp_path / "roles.yaml"),
    }
    guard = authentication(config, {})
    bulk = listen("one", ("oscar", "right"), guard=guard, gate=gate(config, guard))
    assert bulk.preview("pause", connectors=["*"]) == {
        "clicks": ("refused", "oscar may not operate connector clicks"),
        "orders": ("change", "Pauses it"),
    }
    # Labels, classes and types select only what the user may view: nobody can spell them out.
    for selection in ({"labels": "team=x"}, {"classes": ["File*"]}, {"types": ["source"]}):
        assert bulk.preview("pause", **selection).keys() == {"clicks"}
        assert bulk.preview("pause", connectors=["orders"], **selection) == {}
    assert bulk.preview("pause", connectors=["payroll", "ghost"]) == {
        "payroll": ("refused", "oscar may not operate connector payroll"),
        "ghost": ("refused", "oscar may not operate connector ghost"),
    }
    with caplog.at_level("INFO", AUDIT):
        done = bulk.run("pause", connectors=["*"])
    assert results(done)["orders"] == ("done", "Paused")
    lines = [json.loads(each.getMessage()) for each in caplog.records if each.name == AUDIT]
    assert {(line["connector"], line["principal"], line["status"], line["bulk"]) for line in lines} == {
        (None, "oscar", 202, done["id"]), ("orders", "oscar", 202, done["id"]), ("clicks", "oscar", 403, done["id"])
    }  # fmt: skip
    assert targets(cluster) == {"orders": "PAUSED", "clicks": "STARTED", "payroll": "STARTED"}
    # Without `view-config` nothing tells whether a guess of a value is right.
    (guessed,) = bulk.preview("set", connectors=["clicks"], settings={"database.password": "pssst"}).values()
    assert guessed == ("change", "Changes its configuration; it restarts with it: sets database.password")
    assert Bulk(str(bulk.http.base_url), ("nobody", "right")).post("pause", connectors=["*"]).status_code == 403
    assert Bulk(str(bulk.http.base_url)).post("pause", connectors=["*"]).status_code == 401


def test_the_progress_of_another_user_shows_no_settings_and_no_names_that_do_not_exist(
    cluster: RestCluster, listen: Callable[..., Bulk], tmp_path: Path
) -> None:
    create(cluster, "orders")
    hashed = bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode()
    (tmp_path / "htpasswd").write_text("".join(f"{user}:{hashed}\n" for user in ("ada", "vic", "olga")))
    (tmp_path / "roles.yaml").write_text(
        "rules:\n"
        "- {users: [ada], actions: [view, configure]}\n"
        "- {users: [vic], actions: [view]}\n"
        "- {users: [olga], actions: [view, view-config]}\n"
    )
    config = {
        "penstock.authentication.htpasswd": str(tmp_path / "htpasswd"),
        "penstock.authorization.file": str(tmp_path / "roles.yaml"),
    }
    guard = authentication(config, {})
    ada = listen("one", ("ada", "right"), guard=guard, gate=gate(config, guard))
    id = ada.run("set", connectors=["orders", "ghost"], settings={"tasks.max": "s3cret"})["id"]
    shown = {user: results(Bulk(str(ada.http.base_url), (user, "right")).ended(id)) for user in ("ada", "vic", "olga")}
    assert "s3cret" in shown["ada"]["orders"][1]
    assert shown["ada"]["ghost"] == ("refused", "Connector ghost not found")
    assert shown["vic"] == {
        "orders": ("failed", "Shown to the user who has begun the action, and to those with view-config")
    }
    assert shown["olga"] == {"orders": shown["ada"]["orders"]}


def test_a_secret_always_counts_as_a_change(cluster: RestCluster, listen: Callable[..., Bulk]) -> None:
    create(cluster, "a", **{"database.password": "pssst"})
    bulk = listen()
    shown = {
        guess: bulk.preview("set", connectors=["a"], settings={"file": "f", "database.password": guess})["a"]
        for guess in ("pssst", "wrong")
    }
    assert shown["pssst"] == shown["wrong"]
    assert shown["pssst"][0] == "change"
    cluster.now += 1000
    done = bulk.run("set", connectors=["a"], settings={"database.password": "pssst"}, wait_seconds=20)
    assert results(done) == {"a": ("done", "Changed")}


def test_the_progress_is_known_at_every_worker(
    cluster: RestCluster, listen: Callable[..., Bulk], monkeypatch: pytest.MonkeyPatch
) -> None:
    create(cluster, "a")
    apps = {"one": cluster.app("one")}  # each call makes another one, which knows nothing of what that has begun
    monkeypatch.setattr(cluster, "app", lambda worker: apps.get(worker) or RestCluster.app(cluster, worker))
    done = listen("one").run("pause", connectors=["a"])
    two = listen("two").http
    assert two.get(f"{PATH}/{done['id']}").json() == done
    assert two.get(f"{PATH}/{done['id']}?here=true").status_code == 404


def test_the_progress_of_an_unknown_action_is_not_found(listen: Callable[..., Bulk]) -> None:
    answer = listen().http.get(f"{PATH}/{'0' * 12}")
    assert answer.status_code == 404
    assert "No worker that answers knows the progress" in answer.json()["message"]


def test_names_that_look_like_patterns_are_names_where_they_are_exact(
    cluster: RestCluster, listen: Callable[..., Bulk]
) -> None:
    create(cluster, "a", "a*", "a[*]")
    bulk = listen()
    assert results(bulk.run("delete", connectors=["a*"], exact=True)) == {"a*": ("done", "Deleted")}
    assert bulk.preview("delete", connectors=["a*"], exact=True) == {"a*": ("refused", "Connector a* not found")}
    assert targets(cluster) == {"a": "STARTED", "a[*]": "STARTED"}
    answer = bulk.post("delete", states=["RUNNING"], exact=True)
    assert answer.status_code == 400
    assert "'exact' takes 'connectors' as names" in answer.json()["message"]


def test_a_bulk_action_must_select(api: Any) -> None:
    answer = api.post(PATH, json={"action": "delete"})
    assert answer.status_code == 400
    assert "must select connectors by one of connectors, labels, states" in answer.json()["message"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"action": "explode"}, "'action' must be one of pause, resume, stop, restart, delete, set"),
        ({"labels": None}, "'labels' is null; leave it out, or give it a value"),
        ({"connectors": []}, "'connectors' must be a list of 1 to 10000 texts"),
        ({"labels": "team"}, "The labels `team` mean all connectors that have a label `team`, whatever its value"),
        ({"labels": "a b"}, "The labels `a b` can't be understood"),
        ({"states": ["FIALED"]}, "'states' has FIALED; there are RUNNING"),
        ({"types": ["both"]}, "'types' has both; there are source, sink"),
        ({"of": "x"}, "'of' must be the ID of a bulk action"),
        ({"of": "0" * 12}, "'of' selects what a bulk action has paused or stopped, to resume it, not to pause it"),
        ({"settings": {"a": "b"}}, "'settings' is needed by the action set, and by no other"),
        ({"action": "set"}, "'settings' is needed by the action set, and by no other"),
        ({"action": "set", "settings": {}}, "'settings' is empty"),
        ({"action": "set", "settings": {"p": "[hidden]"}}, "The value of 'p' in 'settings' has a mask"),
        ({"only_failed": True}, "'only_failed' is for the action restart, not for pause"),
        ({"wait_seconds": 0}, "'wait_seconds' must be a number above 0, up to 3600"),
        ({"exact": 1}, "'exact' must be true or false"),
        ({"connectors": ["a"], "exact": "yes"}, "'exact' must be true or false"),
        ({"dry_run": "yes"}, "'dry_run' must be true or false"),
        ({"all": True}, "A bulk action has an unknown member 'all'"),
    ],
)
def test_a_bulk_action_that_is_wrong(api: Any, body: dict[str, Any], said: str) -> None:
    answer = api.post(PATH, json={"action": "pause", "connectors": ["*"], **body})
    assert answer.status_code == 400
    assert said in answer.json()["message"]


def test_a_selection_has_a_limited_number_of_patterns(listen: Callable[..., Bulk], cluster: RestCluster) -> None:
    create(cluster, "orders")
    bulk = listen("one")
    names = [f"a{n}*" for n in range(301)]
    refused = bulk.post("pause", connectors=names, dry_run=True)
    assert refused.status_code == 400
    assert refused.json()["message"] == "There are 301 patterns and classes; 300 are accepted"
    assert bulk.post("pause", connectors=names[:300], dry_run=True).status_code == 200
    assert bulk.post("pause", connectors=names, exact=True, dry_run=True).status_code == 200
