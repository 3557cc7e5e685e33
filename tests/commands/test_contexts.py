"""Contexts of ``penstock``: commands find a cluster by its name."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from penstock import cli
from support.certificates import Authority
from support.rest.cluster import RestCluster
from support.rest.server import serve

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs ``penstock`` with contexts of its own, and further variables of the environment."""

    def invoke(*arguments: str, **variables: str) -> Result:
        runner = CliRunner(env={"XDG_CONFIG_HOME": str(tmp_path / "config"), "PENSTOCK_URL": None, "PENSTOCK_CA": None})
        return runner.invoke(cli.app, arguments, env=variables or None)

    return invoke


@pytest.fixture
def secured(cluster: RestCluster, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Yield the URL of a worker with a certificate of a private authority, and the file with that authority's."""
    authority = Authority.make()
    identity = authority.identity("localhost")
    (tmp_path / "own.pem").write_text(identity.key_pem() + identity.certificate_pem)
    (tmp_path / "ca.pem").write_text(authority.certificate_pem)
    with serve(cluster.app("one"), tmp_path / "own.pem") as url:
        yield url, str(tmp_path / "ca.pem")


def test_commands_use_the_current_context_and_the_one_that_is_named(run: Run, secured: tuple[str, str]) -> None:
    url, ca = secured
    nowhere = "http://127.0.0.1:1"
    assert (
        run("context", "set", "prod", "--url", url, "--ca", ca).stdout == f"Context prod is {url}, the current one.\n"
    )
    assert run("context", "set", "dev", "--url", nowhere).stdout == f"Context dev is {nowhere}.\n"
    assert run("status").exit_code == 0
    assert run("get", "plugins").exit_code == 0
    assert run("--context", "dev", "status").exit_code == 4
    assert run("status", PENSTOCK_CONTEXT="dev").exit_code == 4
    assert run("context", "use", "dev").stdout == f"The current context is dev, {nowhere}.\n"
    assert run("status").exit_code == 4
    assert run("--context", "prod", "offsets", "get", "nobody").exit_code == 3


def test_a_url_counts_more_than_the_current_context_and_gets_no_password_of_it(
    run: Run, secured: tuple[str, str], cluster: RestCluster
) -> None:
    """Without the password of the context the command does not ask a worker that another URL names for it."""
    url, ca = secured
    nowhere = "http://127.0.0.1:1"
    run("context", "set", "prod", "--url", url, "--ca", ca, "--user", "ann:secret")
    assert run("status").exit_code == 0
    assert run("status", PENSTOCK_URL=nowhere).exit_code == 4
    assert run("--context", "prod", "status", PENSTOCK_URL=nowhere).exit_code == 0
    assert run("status", "--url", nowhere, PENSTOCK_CONTEXT="prod").exit_code == 4
    asked = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.append(dict(scope["headers"]).get(b"authorization"))
        await cluster.app("one")(scope, receive, send)

    with serve(app) as other:
        assert run("status", "--url", other).exit_code == 0
        assert run("status", f"--url={other}").exit_code == 0
        assert run("status", PENSTOCK_URL=other).exit_code == 0
    assert set(asked) == {None}
    both = run("--context", "prod", "status", "--url", nowhere)
    assert both.exit_code == 2
    assert "--context and --url both say which cluster is meant" in both.stderr


def test_contexts_are_listed_changed_and_deleted(run: Run, tmp_path: Path) -> None:
    run("context", "set", "prod", "--url", "https://a:8083", "--user", "ann:secret", "--ca", "ca.pem")
    run("context", "set", "dev", "--url", "http://b:8083")
    run("context", "set", "prod", "--url", "https://c:8083", "--ca", "")
    listed = run("context", "list")
    assert [line.split() for line in listed.stdout.splitlines()] == [
        ["NAME", "URL", "USER", "CA"],
        ["dev", "http://b:8083", "-", "-"],
        ["*", "prod", "https://c:8083", "ann", "-"],
    ]
    assert "secret" not in listed.stdout
    assert "secret" not in run("status", "--help").stdout
    file = tmp_path / "config" / "penstock" / "contexts.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.read_text())["contexts"]["prod"]["user"] == "ann:secret"
    assert run("context", "delete", "prod").exit_code == 0
    assert [each["name"] for each in json.loads(run("context", "list", "-o", "json").stdout)] == ["dev"]
    assert json.loads(file.read_text())["current"] is None


def test_what_is_not_known_or_broken_is_said(run: Run, tmp_path: Path) -> None:
    new = run("context", "set", "prod")
    assert new.exit_code == 2
    assert "Context prod is new: give it --url." in new.stderr
    run("context", "set", "prod", "--url", "http://a:8083")
    for arguments in (("context", "use", "prd"), ("--context", "prd", "status"), ("context", "delete", "prd")):
        missing = run(*arguments)
        assert missing.exit_code == 1
        assert "There is no context prd; known are prod" in missing.stderr
    (tmp_path / "config" / "penstock" / "contexts.json").write_text('{"current": 1}')
    broken = run("status")
    assert broken.exit_code == 1
    assert "contexts.json can't be read" in broken.stderr
    assert run("--help").exit_code == 0
