"""Commands that change what connectors do."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock.core.model.tasks import TaskId
from penstock.declarative.outcome import await_restarts, await_stop, await_target
from penstock.http.access.authentication.basic_auth import BasicAuth
from penstock.http.access.authentication.guard import Authentication
from penstock.http.access.files import ReloadedFile
from penstock.http.access.gate import AUTHORIZATION, RequestGate
from penstock.http.access.roles import Roles
from penstock.http.client import TIMEOUT_S, Client
from penstock.http.client_errors import LateError, UnreachableError
from support.rest.cluster import RestCluster
from support.rest.server import serve

CONFIG = {"connector.class": "FileStreamSource", "topic": "t", "file": "f"}


@pytest.fixture
def connectors(url: str) -> None:
    """``a`` and ``b``."""
    with Client(url) as worker:
        worker.create("a", CONFIG)
        worker.create("b", CONFIG)


@pytest.mark.usefixtures("connectors")
@pytest.mark.parametrize(
    ("verb", "said", "state"),
    [("pause", "Paused", "PAUSED"), ("stop", "Stopped", "STOPPED"), ("resume", "Resumed", "RUNNING")],
)
def test_target_states(penstock: Any, url: str, verb: str, said: str, state: str) -> None:
    told = penstock(verb, "a", "b")
    assert (told.exit_code, told.stdout) == (0, f"{said} connector a.\n{said} connector b.\n")
    with Client(url) as worker:
        assert [worker.status(name)["connector"]["state"] for name in ("a", "b")] == [state, state]


@pytest.mark.usefixtures("connectors")
def test_a_pause_names_what_stays_failed(penstock: Any, cluster: RestCluster) -> None:
    cluster.fail(TaskId("a", 0), "the disk is full")
    told = penstock("pause", "a", "b")
    assert (told.exit_code, told.stdout) == (
        0,
        "Paused connector a, but task 0 of connector a is FAILED (the disk is full).\nPaused connector b.\n",
    )
    resumed = penstock("resume", "a", "b")
    assert (resumed.exit_code, resumed.stdout) == (1, "Resumed connector b.\n")
    assert resumed.stderr == "penstock: Task 0 of connector a is FAILED (the disk is full).\n"


@pytest.mark.usefixtures("connectors")
def test_a_request_that_has_no_effect_in_time_is_not_reported_as_done(penstock: Any, cluster: RestCluster) -> None:
    cluster.hanging.add(TaskId("a", 0))
    told = penstock("pause", "a", "b", "--wait", "0.2")
    assert (told.exit_code, told.stdout) == (1, "Paused connector b.\n")
    assert told.stderr == "penstock: After 0.2 s task 0 of connector a is RUNNING.\n"
    accepted = penstock("stop", "b", "--wait", "0")
    assert (accepted.exit_code, accepted.stdout) == (0, "The worker has accepted the request for connector b.\n")


@pytest.mark.usefixtures("connectors")
@pytest.mark.parametrize("restart", [False, True])
def test_a_status_that_does_not_come_delays_no_other_connector(cluster: RestCluster, restart: bool) -> None:
    app: Any = cluster.app("one")
    seen = []

    async def hanging(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"].endswith("/a/status"):
            while (await receive())["type"] != "http.disconnect":
                pass
            seen.append("a has not been answered")
            return
        if scope["path"].endswith("/b/status"):
            seen.append("b")
        await app(scope, receive, send)

    with serve(hanging) as url, Client(url) as worker:
        began = time.monotonic()
        names = ["a", "b"]
        (_, a, sentence), (_, b, _) = (
            await_restarts(worker, names, 1.0) if restart else await_target(worker, names, "RUNNING", 1.0)
        )
        assert (a, b) == (False, True)
        assert sentence.startswith("after 1 s the status of connector a can't be read: The worker at ")
        assert seen[0] == "b"
        with pytest.raises(UnreachableError, match="has not answered"):
            await_stop(worker, "a", 1.0)
        assert time.monotonic() - began < TIMEOUT_S


@pytest.mark.usefixtures("connectors")
@pytest.mark.parametrize("command", [("pause", "a"), ("restart", "a")])
def test_an_outcome_that_may_not_be_seen_is_not_waited_for(
    penstock: Any, cluster: RestCluster, tmp_path: Path, command: tuple[str, ...]
) -> None:
    roles = tmp_path / "roles.yaml"
    roles.write_text("rules: [{users: [oscar], actions: [operate]}]")
    gate = RequestGate(ReloadedFile(AUTHORIZATION, str(roles), Roles.parse))
    with serve(cluster.app("one", Authentication(BasicAuth(({"oscar": "o"},))), gate)) as url:
        said = penstock(*command, "--url", url, "--user", "oscar:o", "--wait", "60")
    outcome = "The worker has accepted the request for connector a, whose outcome cannot be seen: "
    assert (said.exit_code, said.stdout.splitlines()[-1]) == (0, f"{outcome}oscar may not view connector a.")


@pytest.mark.usefixtures("connectors")
def test_delete(penstock: Any, url: str) -> None:
    assert penstock("delete", "a").stdout == "Deleted connector a.\n"
    with Client(url) as worker:
        assert worker.connectors() == ["b"]


@pytest.mark.usefixtures("connectors")
def test_connectors_are_deleted_with_their_offsets_one_by_one(penstock: Any, worker: Client) -> None:
    said = penstock("delete", "nobody", "a", "--offsets")
    assert (said.exit_code, said.stderr) == (3, "penstock: Unknown connector nobody\n")
    assert said.stdout.startswith("Connector a: ")
    assert said.stdout.endswith(" Deleted the connector.\n")
    assert worker.connectors() == ["b"]


@pytest.mark.usefixtures("connectors")
def test_a_connector_that_does_not_stop_in_time_is_named(worker: Client) -> None:
    with pytest.raises(LateError, match=r"After 0 s connector a is not stopped yet \(RUNNING, with 1 tasks\)"):
        await_stop(worker, "a", 0.0)


@pytest.mark.usefixtures("connectors")
def test_the_others_follow_one_that_does_not_exist(penstock: Any) -> None:
    said = penstock("pause", "a", "nobody", "b")
    assert said.exit_code == 3
    assert said.stdout == "Paused connector a.\nPaused connector b.\n"
    assert said.stderr == "penstock: Unknown connector nobody\n"


@pytest.mark.usefixtures("connectors")
def test_a_label_without_a_value_changes_no_connector(penstock: Any, url: str) -> None:
    with Client(url) as worker:
        worker.create("c", {**CONFIG, "penstock.labels.team": "web"})
        for verb in ("pause", "stop", "resume", "restart", "delete", "patch"):
            said = penstock(verb, *(["topic=u"] if verb == "patch" else []), "-l", "team")
            assert (said.exit_code, said.stdout) == (1, "")
            assert "`team=VALUE`" in said.stderr
        assert worker.status("c")["connector"]["state"] == "RUNNING"
        assert penstock("pause", "-l", "team=*").stdout == "Paused connector c.\n"
        assert penstock("status", "-l", "team").stdout.splitlines()[1].split()[0] == "c"


@pytest.mark.usefixtures("connectors")
def test_patch(penstock: Any, url: str) -> None:
    with Client(url) as worker:
        worker.create("other", {**CONFIG, "tasks.max": "1"})
        said = penstock("patch", "a", "topic=u", "file=with=sign")
        shown = "Connector a:\n  - file=f\n  + file=with=sign\n  - topic=t\n  + topic=u\nPatched connector a.\n"
        assert (said.exit_code, said.stdout) == (0, shown)
        config = {**CONFIG, "name": "a", "topic": "u", "file": "with=sign"}
        assert worker.config("a") == config
        assert penstock("patch", "a", "topic=u").stdout == "Connector a has these settings already.\n"
        assert penstock("patch", "[ab]", "topic=v", input="n\n").exit_code == 1
        assert penstock("patch", "[ab]", "topic=v", "--yes").stdout.count("Patched connector") == 2
        assert penstock("patch", "other", "--unset", "tasks.max").exit_code == 0
        assert "tasks.max" not in worker.config("other")
        wrong = penstock("patch", "a", "nobody", "tasks.max=many")
        assert (wrong.exit_code, wrong.stdout) == (1, "")
        assert "Not a number" in wrong.stderr
        assert worker.config("a") == {**config, "topic": "v"}
    for words in (
        (),
        ("a",),
        ("a", "=x"),
        ("a", "b=1", "b=2"),
        ("a", "b=1", " b=2"),
        ("a", "b=1", "--unset", " b"),
        ("b=1",),
    ):
        assert penstock("patch", *words).exit_code == 2


@pytest.mark.parametrize("words", [("=canary",), ("db.password=canary-1", " db.password =canary-2")])
def test_patch_does_not_repeat_a_secret_that_it_refuses(penstock: Any, words: tuple[str, ...]) -> None:
    said = penstock("patch", "a", *words)
    assert (said.exit_code, "canary" in said.output) == (2, False)


@pytest.mark.usefixtures("connectors")
def test_a_patched_setting_that_the_worker_masks_is_shown_as_hidden(
    penstock: Any, cluster: RestCluster, worker: Client, tmp_path: Path
) -> None:
    roles = tmp_path / "roles.yaml"
    roles.write_text("rules: [{users: [victor], actions: [view, configure]}]")
    gate = RequestGate(ReloadedFile(AUTHORIZATION, str(roles), Roles.parse))
    with serve(cluster.app("one", Authentication(BasicAuth(({"victor": "v"},))), gate)) as url:

        def patch(*settings: str) -> str:
            return str(penstock("patch", "a", *settings, "--url", url, "--user", "victor:v").stdout)

        said = "Connector a:\n{}  + db.password=[hidden]\nPatched connector a.\n"
        assert patch("db.password=old") == said.format("")
        assert patch("db.password=new") == said.format("")
        assert patch("db.password=new", "topic=u") == said.format("  - topic=t\n  + topic=u\n")
        same = "Connector a has these settings already.\n"
        assert patch("db.password=[hidden]", "topic=u") == same
    assert worker.config("a")["db.password"] == "new"
    assert penstock("patch", "a", "db.password=new").stdout == same


@pytest.mark.usefixtures("connectors")
@pytest.mark.parametrize("command", [("delete", "[ab]"), ("patch", "[ab]", "topic=u")])
def test_a_question_that_nobody_can_answer_names_the_option(
    penstock: Any, worker: Client, command: tuple[str, ...]
) -> None:
    said = penstock(*command)
    assert (said.exit_code, said.stdout.strip()) == (2, "")
    assert "add --yes" in " ".join(said.stderr.replace("│", " ").split())
    assert worker.config("a")["topic"] == "t"


@pytest.mark.usefixtures("connectors")
def test_a_restart_reports_its_outcome(penstock: Any, cluster: RestCluster) -> None:
    said = penstock("restart", "a", "--include-tasks")
    assert (said.exit_code, said.stdout) == (
        0,
        "Restarting connector a and its task 0.\nConnector a is RUNNING.\n",
    )
    cluster.fail(TaskId("b", 0), "java.io.IOException: writing\nCaused by: java.io.IOException: the disk is full")
    said = penstock("restart", "a", "b")
    assert (said.exit_code, said.stdout) == (
        1,
        "Restarted connector a.\nRestarted connector b.\nConnector a is RUNNING.\n",
    )
    cause = "(Caused by: java.io.IOException: the disk is full)"
    assert said.stderr == f"penstock: Task 0 of connector b is FAILED {cause}.\n"
    assert penstock("restart", "b", "--task", "0").stdout.splitlines()[1:] == ["Task 0 of connector b is RUNNING."]


@pytest.mark.usefixtures("connectors")
def test_a_restart_that_does_not_end_in_time_is_reported(penstock: Any, cluster: RestCluster) -> None:
    tasks = cluster.workers["one"].herder.statuses.tasks["a"]
    tasks[0] = replace(tasks[0], state="UNASSIGNED")
    said = penstock("restart", "a", "--wait", "0.2")
    assert (said.exit_code, said.stderr) == (1, "penstock: After 0.2 s task 0 of connector a is UNASSIGNED.\n")


@pytest.mark.usefixtures("connectors")
def test_a_restart_does_not_wait_for_a_connector_that_was_deleted(penstock: Any, worker: Client) -> None:
    worker.delete("a")
    ((name, well, sentence),) = await_restarts(worker, ["a"], 600.0)
    assert (name, well) == ("a", False)
    assert sentence.startswith("the status of connector a can't be read: ")
    assert "after 600 s" not in sentence


def test_a_restart_whose_worker_is_away_is_reported_in_one_sentence() -> None:
    with Client("http://127.0.0.1:1", patience=0) as worker:
        ((_, well, sentence),) = await_restarts(worker, ["a"], 0.1)
    assert not well
    assert sentence == (
        "after 0.1 s the status of connector a can't be read: "
        "No worker can be reached at http://127.0.0.1:1: [Errno 111] Connection refused"
    )


@pytest.mark.usefixtures("connectors")
def test_restart(penstock: Any, cluster: RestCluster) -> None:
    def restart(*arguments: str) -> str:
        return str(penstock("restart", *arguments, "--wait", "0").stdout)

    assert restart("a") == "Restarted connector a.\n"
    assert restart("a", "--only-failed") == "Nothing of connector a has failed, so nothing is restarted.\n"
    assert restart("a", "--include-tasks") == "Restarting connector a and its task 0.\n"
    assert restart("a", "--task", "0") == "Restarted task 0 of connector a.\n"
    cluster.fail(TaskId("a", 0), "the disk is full")
    assert restart("a", "b", "--include-tasks", "--only-failed") == (
        "Restarting task 0 of connector a.\nNothing of connector b has failed, so nothing is restarted.\n"
    )


@pytest.mark.usefixtures("connectors")
def test_restart_of_what_is_not_there(penstock: Any) -> None:
    unknown = penstock("restart", "a", "--task", "7")
    assert (unknown.exit_code, unknown.stderr) == (3, "penstock: Unknown task: a-7\n")
    assert penstock("restart", "nobody").exit_code == 3
    assert penstock("restart", "a", "--task", "0", "--only-failed").exit_code == 2


def test_no_worker(penstock: Any) -> None:
    said = penstock("pause", "a", "b", "--url", "http://127.0.0.1:1")
    assert said.exit_code == 4
    assert said.stderr == "penstock: No worker can be reached at http://127.0.0.1:1: [Errno 111] Connection refused.\n"


def test_a_wrong_command_line(penstock: Any) -> None:
    assert penstock("pause").exit_code == 2
    assert penstock("status", "-o", "xml").exit_code == 2
