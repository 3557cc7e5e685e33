"""Principals of forwarded requests, over real sockets: the worker that carries out a request verifies who asked."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import ssl
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import bcrypt
import httpx
import pytest
from joserfc.jwk import ECKey, KeySet
from starlette.requests import Request

from penstock.core.model import messages as m
from penstock.http.access.authentication.forwarded import HEADER, KEY, VIA, Forwarded, id_of
from penstock.http.access.authentication.principals import Principal
from penstock.http.access.listeners import RestSettingError
from penstock.http.server import RestServer
from support.certificates import Authority

pytestmark = pytest.mark.security
Serve = Callable[..., RestServer]
ONE, TWO = "1" * 32, "2" * 40
SESSION_KEY = b"the session key, as everybody can read it in the config topic"
PAUSE = "/connectors/x/pause"
ROLES = "rules: [{users: [carl], actions: [view, operate]}, {users: [worker-2], actions: [admin, operate]}]"


@pytest.fixture
def ca() -> Authority:
    return Authority.make()


@pytest.fixture
def worker(serve: Serve, ca: Authority, tmp_path: Path) -> Callable[..., RestServer]:
    """Return a function that starts a worker with a certificate of this name, which authenticates clients by theirs."""
    (tmp_path / "ca.pem").write_text(ca.certificate_pem)
    (tmp_path / "roles.yaml").write_text(ROLES)

    def start(name: str, answer: Any, keys: str = "", **more: Any) -> RestServer:
        file = tmp_path / f"{name}.pem"
        if not file.exists():
            own = ca.identity(name)
            file.write_text(own.key_pem() + own.certificate_pem)
        config = {
            "listeners": "https://127.0.0.1:0",
            "listeners.https.ssl.keystore.type": "PEM",
            "listeners.https.ssl.keystore.location": str(file),
            "listeners.https.ssl.truststore.type": "PEM",
            "listeners.https.ssl.truststore.location": str(tmp_path / "ca.pem"),
            "listeners.https.ssl.client.auth": "requested",
            "penstock.authentication.certificates": "true",
            "penstock.authorization.file": str(tmp_path / "roles.yaml"),
        }
        return serve(config | ({KEY: keys} if keys else {}), answer, **more)

    return start


@pytest.fixture
def audited(caplog: pytest.LogCaptureFixture) -> Callable[[], list[dict[str, Any]]]:
    caplog.set_level(logging.INFO, "penstock.audit")

    def lines() -> list[dict[str, Any]]:
        found = [json.loads(record.getMessage()) for record in caplog.records if record.name == "penstock.audit"]
        caplog.clear()
        return found

    return lines


@pytest.fixture
def put(ca: Authority, tmp_path: Path) -> Callable[..., httpx.Response]:
    """Return a function that sends a change to a worker, with a certificate of this name."""

    def send(server: RestServer, name: str | None, path: str = PAUSE, **headers: str) -> httpx.Response:
        verify: Any = False
        if server.advertised_url.startswith("https"):
            verify = ssl.create_default_context(cadata=ca.certificate_pem)
            if name is not None:
                own = ca.identity(name)
                (tmp_path / "client.pem").write_text(own.key_pem() + own.certificate_pem)
                verify.load_cert_chain(tmp_path / "client.pem")
        sent = {key.replace("_", "-"): value for key, value in headers.items()}
        return httpx.put(id_url(server) + path, headers=sent, verify=verify, timeout=900)

    return send


def id_url(server: RestServer) -> str:
    return server.advertised_url.rstrip("/")


def test_a_key_of_the_settings_proves_a_certificate(
    worker: Any, put: Any, audited: Callable[[], list[dict[str, Any]]]
) -> None:
    leader = worker("worker-1", m.Reply(202), f"{ONE},{TWO}")
    follower = worker("worker-2", m.Elsewhere(leader.advertised_url), TWO)
    assert put(leader, "carl").status_code == 202
    assert put(leader, "eve").status_code == 403
    assert put(leader, None).status_code == 401
    audited()
    assert put(follower, "carl").status_code == 202
    effect, passed_on, *_ = audited()
    shown = ("principal", "how", "address", "status")
    assert [effect[each] for each in shown] == ["carl", "certificate", "127.0.0.1", 202]
    assert effect["via"] == id_of(follower.advertised_url)
    assert [passed_on[each] for each in shown] == ["carl", "certificate", "127.0.0.1", 202]
    assert passed_on["forwarded_to"] == leader.advertised_url


@pytest.mark.parametrize(("leaders", "followers"), [("", ""), (ONE, ""), ("", ONE), (ONE, TWO)])
def test_a_certificate_is_not_passed_on_without_a_proof(
    worker: Any, put: Any, audited: Callable[[], list[dict[str, Any]]], leaders: str, followers: str
) -> None:
    """The follower's certificate is an administrator's; the leader must not take the follower for the client."""
    leader = worker("worker-1", m.Reply(202), leaders)
    follower = worker("worker-2", m.Elsewhere(leader.advertised_url), followers)
    assert put(leader, "worker-2").status_code == 202
    audited()
    answer = put(follower, "carl")
    assert answer.status_code == 403
    assert KEY in answer.json()["message"]
    refused, passed_on, *_ = audited()
    assert (refused["principal"], refused["tried"], refused["outcome"]) == (None, "carl", "refused")
    assert refused["via"] == id_of(follower.advertised_url)
    assert (passed_on["principal"], passed_on["outcome"]) == ("carl", "refused")


@pytest.mark.parametrize(("keys", "missing"), [(ONE, 0), ("", 1)])
def test_members_tell_what_they_know_to_who_a_certificate_names(
    worker: Any, ca: Authority, tmp_path: Path, keys: str, missing: int
) -> None:
    urls: list[str] = []

    def described(number: int) -> Callable[[], dict[str, Any]]:
        about = {"leader": None, "generation": 1, "knows": [], "spark": []}
        return lambda: {"worker_id": id_of(urls[number]), **about}

    for number, name in enumerate(("worker-1", "worker-2")):
        made = worker(name, m.Reply(200), keys, about=described(number), members=lambda: urls)
        urls.append(made.advertised_url)
    own = ca.identity("carl")
    (tmp_path / "client.pem").write_text(own.key_pem() + own.certificate_pem)
    verify = ssl.create_default_context(cadata=ca.certificate_pem)
    verify.load_cert_chain(tmp_path / "client.pem")
    found = httpx.get(f"{urls[0]}penstock/v1/workers", verify=verify, timeout=900).json()
    assert (len(found["workers"]), len(found["unreachable"])) == (2 - missing, missing)


def test_one_certificate_for_all_workers_is_a_proof(worker: Any, put: Any) -> None:
    leader = worker("worker-1", m.Reply(202))
    follower = worker("worker-1", m.Elsewhere(leader.advertised_url))
    assert put(follower, "carl").status_code == 202
    assert put(follower, "eve").status_code == 403
    said = Forwarded(own="x").headers(request_of(Principal("carl", how="certificate")), "PUT", "x", b"", b"")
    assert put(leader, "worker-1", **said).status_code == 403  # another certificate of that name


def test_a_certificate_of_a_connection_that_forwards_is_not_the_clients(worker: Any, put: Any) -> None:
    leader = worker("worker-1", m.Reply(202), ONE)
    assert put(leader, "worker-2").status_code == 202
    for via in ("worker-2:8083", "", "\x7f"):
        assert put(leader, "worker-2", **{VIA: via}).status_code == 401


def request_of(principal: Principal) -> Request:
    return Request({"type": "http", "headers": [], "state": {"principal": principal}})


ADMIN = Principal("worker-2", how="certificate", address="1.2.3.4")


def with_the_session_key(method: str, target: bytes, body: bytes) -> list[dict[str, str]]:
    """Return headers that an attacker who has read the config topic could send."""
    said = {"name": "worker-2", "groups": [], "how": "certificate", "address": "", "via": "", "time": time.time()}
    text = json.dumps(said).encode()
    parts = (b"penstock principal", text, method.encode(), target, hashlib.sha256(body).digest())
    old = hmac.new(SESSION_KEY, b"\n".join(parts), "sha256").hexdigest()
    encoded = base64.b64encode(text).decode()
    signature = base64.b64encode(hmac.digest(SESSION_KEY, body, "sha256")).decode()
    internal = {"X-Connect-Request-Signature": signature, "X-Connect-Signature-Algorithm": "HmacSHA256"}
    forged = Forwarded((SESSION_KEY,), "worker-2:1")
    new = forged.headers(request_of(ADMIN), method, "http://127.0.0.1:1/", target, body)
    return [
        internal,
        {HEADER: f"{encoded}.{old}"},
        {HEADER: f"{encoded}.{old}", **internal},
        {HEADER: new[HEADER]},
        {**new, **internal},
        {HEADER: f"{encoded}.", **internal},
        {HEADER: "worker-2", **internal},
        {HEADER: "", **internal},
    ]


def configs(folder: Path) -> dict[str, dict[str, str]]:
    hashed = bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode()
    (folder / "htpasswd").write_text(f"vic:{hashed}\n")
    (folder / "roles.yaml").write_text(ROLES)
    (folder / "jwks.json").write_text(
        json.dumps(KeySet([ECKey.generate_key("P-256", {"kid": "1"})]).as_dict(private=False))
    )
    oidc = "penstock.authentication.oidc."
    roles = {"penstock.authorization.file": str(folder / "roles.yaml")}
    return {
        "htpasswd": {"penstock.authentication.htpasswd": str(folder / "htpasswd"), **roles},
        "certificates": {"penstock.authentication.certificates": "true", **roles},
        "tokens": {
            f"{oidc}jwks": str(folder / "jwks.json"),
            f"{oidc}issuer": "x",
            f"{oidc}audience": "x",
            KEY: ONE,
            **roles,
        },
    }


@pytest.mark.parametrize("kind", ["htpasswd", "certificates", "tokens"])
def test_the_session_key_proves_no_principal(
    serve: Serve, put: Any, tmp_path: Path, audited: Callable[[], list[dict[str, Any]]], kind: str
) -> None:
    server = serve(configs(tmp_path)[kind], m.Reply(202))
    for headers in with_the_session_key("PUT", PAUSE.encode(), b""):
        for more in ({}, {VIA: "worker-2:8083"}, {"Authorization": "Basic dmljOnJpZ2h0"}):
            audited()
            status = put(server, None, **(headers | more)).status_code
            assert status in (401, 403), (headers, more)
            (line,) = audited()
            assert (line["outcome"], line["status"]) == ("refused", status)
            assert line["principal"] in (None, "vic")


def test_without_authentication_nobody_is_named_either(
    serve: Serve, put: Any, audited: Callable[[], list[dict[str, Any]]]
) -> None:
    server = serve({}, m.Reply(202))
    internal, *others = with_the_session_key("PUT", PAUSE.encode(), b"")
    assert put(server, None, **internal).status_code == 202
    assert audited()[0]["principal"] is None
    for headers in others:
        assert put(server, None, **headers).status_code == 403
        assert audited()[0]["principal"] is None


def test_a_key_has_to_be_long(serve: Serve) -> None:
    with pytest.raises(RestSettingError, match=KEY):
        serve({KEY: f"{ONE},short"})


def test_credentials_travel_and_are_checked_where_the_request_takes_effect(
    serve: Serve, put: Any, tmp_path: Path, audited: Callable[[], list[dict[str, Any]]]
) -> None:
    hashed = {user: bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode() for user in ("carl", "ann")}
    for worker, users in (("leader", ["carl"]), ("follower", ["carl", "ann"])):
        (tmp_path / worker).write_text("".join(f"{user}:{hashed[user]}\n" for user in users))
    (tmp_path / "roles.yaml").write_text("rules: [{users: [carl, ann], actions: [operate]}]")

    def config(worker: str) -> dict[str, str]:
        return {
            "penstock.authentication.htpasswd": str(tmp_path / worker),
            "penstock.authorization.file": str(tmp_path / "roles.yaml"),
        }

    leader = serve(config("leader"), m.Reply(202))
    follower = serve(config("follower"), m.Elsewhere(leader.advertised_url))

    def ask(user: str) -> int:
        given = base64.b64encode(f"{user}:right".encode()).decode()
        status: int = put(follower, None, Authorization=f"Basic {given}").status_code
        return status

    assert ask("carl") == 202
    effect, passed_on, *_ = audited()
    assert (effect["principal"], effect["how"], effect["via"]) == ("carl", "basic", id_of(follower.advertised_url))
    assert (passed_on["principal"], passed_on["forwarded_to"]) == ("carl", leader.advertised_url)
    assert ask("ann") == 401
    refused, *_ = audited()
    assert (refused["principal"], refused["tried"], refused["status"]) == (None, "ann", 401)


def test_credentials_do_not_follow_a_redirect(serve: Serve, put: Any) -> None:
    received: list[str] = []

    class Redirecting(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            received.append(self.path)
            self.send_response(307)
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_address[1]}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Redirecting) as other:
        Thread(target=other.serve_forever, args=(0.02,), daemon=True).start()
        follower = serve({}, m.Elsewhere(f"http://127.0.0.1:{other.server_address[1]}/"))
        answer = put(follower, None, Authorization="Basic eDp5")
        other.shutdown()
    assert received == [f"{PAUSE}?forward=true"]
    assert (answer.status_code, answer.json()["error_code"]) == (500, 500)
