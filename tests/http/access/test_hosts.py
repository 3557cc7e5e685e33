"""Names by which a worker without authentication can be called, over real sockets: pages point theirs at it."""

from __future__ import annotations

import http.client
import json
import logging
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import bcrypt
import pytest

from penstock.http.access.hosts import ALLOWED_HOSTS, AllowedHosts
from penstock.http.access.listeners import RestSettingError
from penstock.http.server import RestServer

pytestmark = pytest.mark.security
Serve = Callable[..., RestServer]
ANY = {"listeners": "http://0.0.0.0:0"}


def ask(server: RestServer, host: str | None, method: str = "GET", path: str = "/", **headers: str) -> tuple[int, Any]:
    """Send a request with this header ``Host``; None sends none, by HTTP/1.0."""
    port = urlsplit(server.advertised_url).port
    sent = [f"{method} {path} HTTP/{'1.0' if host is None else '1.1'}", "Connection: close"]
    sent += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    sent += [] if host is None else [f"Host: {host}"]
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall("\r\n".join([*sent, "", ""]).encode())
        reply = http.client.HTTPResponse(connection, method=method)
        reply.begin()
        body = reply.read()
    return reply.status, json.loads(body) if body else None


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "10.1.2.3:8083", "[::1]", "[::1]:8083", "::1", "[::ffff:10.0.0.1]:1", "127.0.0.1."),
        *("localhost", "LocalHost:8083", "localhost.", "localhost.:8083", "LOCALHOST.LOCALDOMAIN"),
        *(socket.gethostname(), f"{socket.gethostname().upper()}:8083", socket.getfqdn(), None),
    ],
)
def test_addresses_and_own_names(serve: Serve, host: str | None) -> None:
    assert ask(serve(ANY), host)[0] == 200


OTHERS = [
    *(
        "evil.example",
        "evil.example:8083",
        "evil.example.",
        "EVIL.EXAMPLE",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
    ),
    *("notlocalhost", "localhost-x", "127.1", "0x7f000001", "2130706433", "local%68ost", "1.2.3.4.5", "*", "*.example"),
]


@pytest.mark.parametrize("host", OTHERS)
def test_a_name_that_a_page_could_have(serve: Serve, host: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "penstock.audit")
    server = serve(ANY)
    for method, path in (
        *(("GET", "/"), ("GET", "/connectors"), ("GET", "/ui"), ("GET", "/health"), ("GET", "/metrics")),
        *(("PUT", "/connectors/c/pause"), ("POST", "/connectors/c/tasks"), ("PUT", "/connectors/c/fence")),
        *(("GET", "/connectors/c/logs/stream"), ("GET", "/admin/loggers"), ("OPTIONS", "/"), ("GET", "/nothing")),
    ):
        caplog.clear()
        status, body = ask(server, host, method, path)
        assert (status, body["error_code"]) == (403, 403)
        assert ALLOWED_HOSTS in body["message"]
        (line,) = (json.loads(record.getMessage()) for record in caplog.records if record.name == "penstock.audit")
        assert (line["request"], line["outcome"], line["address"]) == (f"{method} {path}", "refused", "127.0.0.1")


@pytest.mark.parametrize("name", ["X_Forwarded_Host", "Forwarded", "X_Host", "X_Original_Host"])
def test_no_other_header_counts(serve: Serve, name: str) -> None:
    server = serve(ANY)
    assert ask(server, "evil.example", **{name: "host=localhost" if name == "Forwarded" else "localhost"})[0] == 403
    assert ask(server, "localhost", **{name: "evil.example"})[0] == 200


def test_the_page_is_its_own_origin(serve: Serve) -> None:
    own = {"Origin": "http://evil.example:8083", "Sec_Fetch_Site": "same-origin", "Authorization": "Basic eDp5"}
    server = serve(ANY)
    assert ask(server, "evil.example:8083", "POST", "/connectors/c/restart", **own)[0] == 403
    every = serve(ANY | {"access.control.allow.origin": "*"})
    assert ask(every, "evil.example:8083", "POST", "/connectors/c/restart", **own)[0] == 403


def test_names_of_settings(serve: Serve) -> None:
    server = serve(
        {
            "listeners": "http://127.0.0.1:0",
            "admin.listeners": "http://localhost:0",
            "rest.advertised.host.name": "Worker-1.example.com",
            ALLOWED_HOSTS: "Connect, *.apps.example.com, proxy.example.com.",
        }
    )
    port = urlsplit(str(server.listeners[0])).port
    for host, status in (
        ("worker-1.example.com:8083", 200),
        ("connect", 200),
        ("CONNECT.", 200),
        ("proxy.example.com", 200),
        ("a.b.apps.example.com", 200),
        ("apps.example.com", 403),
        ("evilapps.example.com", 403),
        ("connect.evil.example", 403),
    ):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            connection.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            assert int(connection.recv(100).split()[1]) == status, host
    assert ask(serve(ANY | {ALLOWED_HOSTS: "*"}), "evil.example")[0] == 200


@pytest.mark.parametrize("given", ["http://a", "a:8083", "a b", "*a", "a.*", "a/b", "**"])
def test_settings_that_are_no_names(given: str) -> None:
    with pytest.raises(RestSettingError, match=ALLOWED_HOSTS):
        AllowedHosts.of({ALLOWED_HOSTS: given}, (), "http://h:1/", authenticated=False)


def test_credentials_make_every_name_good(serve: Serve, tmp_path: Path) -> None:
    """A proxy or a service of Kubernetes has names that the worker does not know."""
    hashed = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()
    (tmp_path / "htpasswd").write_text(f"ada:{hashed}\n")
    server = serve(ANY | {"penstock.authentication.htpasswd": str(tmp_path / "htpasswd")})
    right, wrong = {"Authorization": "Basic YWRhOnNlY3JldA=="}, {"Authorization": "Basic YWRhOm5v"}
    assert ask(server, "connect.svc.cluster.local", "PUT", "/connectors/c/pause", **right)[0] == 200
    assert ask(server, "connect.svc.cluster.local", "PUT", "/connectors/c/pause", **wrong)[0] == 401
    assert ask(server, "connect.svc.cluster.local", "PUT", "/connectors/c/pause")[0] == 401
    assert ask(server, "evil.example", "POST", "/connectors/c/tasks")[0] == 403  # credentials are not asked for
    assert ask(server, "connect.svc.cluster.local", "GET", "/health?live=true")[0] not in (401, 403)
    assert ask(server, "127.0.0.1", "POST", "/connectors/c/tasks")[0] != 403


def test_an_empty_file_of_users_proves_nothing(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "users").write_text("")
    module = "org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule"
    (tmp_path / "jaas").write_text(f'KafkaConnect {{ {module} required file="{tmp_path}/users"; }};')
    server = serve(
        ANY
        | {
            "rest.extension.classes": "BasicAuthSecurityRestExtension",
            "java.security.auth.login.config": str(tmp_path / "jaas"),
        }
    )
    anybody = {"Authorization": "Basic YWRhOnNlY3JldA=="}
    assert ask(server, "127.0.0.1", **anybody)[0] == 200
    assert ask(server, "evil.example", **anybody)[0] == 403
