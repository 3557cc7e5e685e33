"""The server itself: real sockets on this machine, with and without TLS."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import httpx
import pytest

from penstock.core.model import messages as m
from penstock.core.model.actions import CallLeader
from penstock.core.model.events import Completed
from penstock.http.access.listeners import RestSettingError
from penstock.http.access.tls import VERSIONS, client_context
from penstock.http.server import ListenError, RestServer
from penstock.java import key_stores
from penstock.threads import Threads
from penstock.worker.background import Background
from support.certificates import PASSWORD, Authority, Identity, pkcs12_key_store
from support.waiting import SECONDS, until

get = partial(httpx.get, timeout=60)
LOCAL = "http://127.0.0.1:0"
Serve = Callable[..., RestServer]


@pytest.fixture(scope="module")
def ca() -> Authority:
    return Authority.make()


def test_several_listeners(serve: Serve) -> None:
    server = serve({"listeners": f"{LOCAL},http://localhost:0,http://:0"})
    assert len({each.port for each in server.listeners}) == 3
    for each in server.listeners:
        assert get(f"http://127.0.0.1:{each.port}/connectors").json() == "ListConnectors"
        assert get(f"http://127.0.0.1:{each.port}/admin/loggers").json() == "ListLoggers"
    assert server.advertised_url == f"http://127.0.0.1:{server.listeners[0].port}/"


def test_admin_listeners(serve: Serve) -> None:
    config = {"listeners": LOCAL, "admin.listeners": LOCAL, "response.http.headers.config": "set X-A:1"}
    regular, admin = (f"http://127.0.0.1:{each.port}" for each in serve(config).listeners)
    assert get(f"{admin}/admin/loggers").json() == "ListLoggers"
    assert [get(f"{admin}{path}").status_code for path in ("/", "/connectors", "/health")] == [404] * 3
    assert get(f"{regular}/connectors").json() == "ListConnectors"
    assert get(f"{regular}/admin/loggers").status_code == 404
    assert get(f"{regular}/").headers["x-a"] == "1"
    assert "x-a" not in get(f"{admin}/admin/loggers").headers
    assert set(get(f"{admin}/openapi.json").json()["paths"]) == {
        "/admin/loggers",
        "/admin/loggers/{logger}",
        "/openapi.json",
    }


def test_admin_nowhere(serve: Serve) -> None:
    url = serve({"listeners": LOCAL, "admin.listeners": ""}).advertised_url
    assert get(f"{url}admin/loggers").status_code == 404
    assert get(f"{url}connectors").status_code == 200


def test_what_every_answer_says(serve: Serve) -> None:
    url = serve({"listeners": LOCAL}).advertised_url
    answer = get(url)
    assert set(answer.headers) == {"date", "content-type", "content-length"}
    assert httpx.head(url, timeout=60).headers["content-length"] == answer.headers["content-length"]
    assert httpx.head(url, timeout=60).content == b""


def test_a_change_by_a_page_of_another_origin_is_refused(serve: Serve) -> None:
    url = serve({"listeners": LOCAL}).advertised_url
    answer = httpx.post(f"{url}/connectors/c/restart", headers={"Sec-Fetch-Site": "cross-site"}, timeout=60)
    assert (answer.status_code, answer.json()["error_code"]) == (403, 403)


def test_location_is_where_the_client_came_in(serve: Serve) -> None:
    url = serve({"listeners": LOCAL}, m.Reply(201, {})).advertised_url
    given = {"name": "x", "config": {}}
    headers = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "1.2.3.4"}
    created = httpx.post(f"{url}connectors", json=given, headers=headers, timeout=60)
    assert created.headers["location"] == f"{url}connectors/x"
    named = httpx.post(f"{url}connectors", json=given, headers={"Host": "me:1"}, timeout=60)
    assert named.headers["location"] == "http://me:1/connectors/x"


def test_paths_arrive_as_they_are_sent(serve: Serve) -> None:
    port = serve({"listeners": LOCAL}).listeners[0].port
    for path, status in [("//connectors", 400), ("/connectors/a%2Fb", 200), ("/connectors/%zz", 400), ("*", 400)]:
        with closing(socket.create_connection(("127.0.0.1", port))) as sock:
            sock.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            assert sock.makefile("rb").readline().split()[1] == str(status).encode()


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("http://x/connectors", 200),
        ("https://x:1?a=b", 200),
        ("http://[::1]/connectors/a/nothing", 404),
        ("http:///connectors", 400),
        ("http://user@x/", 400),
        ("ftp://x/", 400),
    ],
)
def test_a_request_may_name_a_whole_url(serve: Serve, target: str, status: int) -> None:
    port = serve({"listeners": LOCAL}).listeners[0].port
    with closing(socket.create_connection(("127.0.0.1", port))) as sock:
        sock.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        assert sock.makefile("rb").readline().split()[1] == str(status).encode()


def test_metrics(serve: Serve) -> None:
    url = serve({"listeners": LOCAL}, metrics=lambda: b"up 1\n").advertised_url
    answer = get(f"{url}metrics", headers={"Accept": "text/plain;version=0.0.4"})
    assert (answer.text, answer.headers["content-type"]) == ("up 1\n", "text/plain; version=0.0.4; charset=utf-8")
    assert "/metrics" in get(f"{url}openapi.json").json()["paths"]


def test_metrics_that_hang_take_one_thread(serve: Serve) -> None:
    """Those of plugins are among them, and what else the worker does has threads of its own."""
    go, asked = threading.Event(), list[str]()

    def metrics() -> bytes:
        asked.append(threading.current_thread().name)
        go.wait()
        return b"up 1\n"

    url = f"{serve({'listeners': LOCAL}, metrics=metrics).advertised_url}metrics"
    first = Threads().submit(get, url, timeout=SECONDS)
    until(lambda: asked, "the first request", SECONDS)
    with pytest.raises(httpx.ReadTimeout):
        get(url, timeout=0.5)
    go.set()
    assert first.result(SECONDS).text == "up 1\n"
    assert asked == ["background"]
    assert get(url).text == "up 1\n"


def test_a_port_that_is_taken(serve: Serve) -> None:
    port = serve({"listeners": LOCAL}).listeners[0].port
    with pytest.raises(ListenError, match=f"Listener http://127.0.0.1:{port} can't be used: Address already in use"):
        serve({"listeners": f"{LOCAL},http://127.0.0.1:{port}"})


def test_a_server_that_was_stopped_gives_its_port_back(serve: Serve) -> None:
    server = serve({"listeners": LOCAL})
    port = server.listeners[0].port
    get(server.advertised_url)
    server.stop(5)
    with pytest.raises(httpx.ConnectError):
        get(server.advertised_url)
    assert serve({"listeners": f"http://127.0.0.1:{port}"}).listeners[0].port == port


def pem_file(own: Identity, path: Path) -> Path:
    """Key and certificate in one file."""
    path.write_text(own.key_pem() + own.certificate_pem)
    return path


def https(own: Identity, path: Path, prefix: str = "listeners.https.") -> dict[str, str]:
    location = str(pem_file(own, path))
    return {
        "listeners": "https://127.0.0.1:0",
        f"{prefix}ssl.keystore.type": "PEM",
        f"{prefix}ssl.keystore.location": location,
    }


def trusting(ca: Authority, own: Path | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=ca.certificate_pem)
    if own is not None:
        context.load_cert_chain(own)
    return context


@pytest.mark.parametrize("prefix", ["listeners.https.", ""])
def test_https_with_a_pem_file(serve: Serve, ca: Authority, tmp_path: Path, prefix: str) -> None:
    url = serve(https(ca.identity("localhost"), tmp_path / "own.pem", prefix)).advertised_url
    assert url.startswith("https://127.0.0.1:")
    assert get(url, verify=trusting(ca)).json() == "GetRoot"
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        get(url, verify=trusting(Authority.make()))


def test_https_with_texts_and_a_password(serve: Serve, ca: Authority) -> None:
    own = ca.identity("localhost")
    config = {
        "listeners": "https://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": own.key_pem("secret"),
        "ssl.keystore.certificate.chain": own.certificate_pem,
        "ssl.key.password": "secret",
    }
    assert get(serve(config).advertised_url, verify=trusting(ca)).status_code == 200


def test_https_with_a_java_key_store(serve: Serve, ca: Authority, tmp_path: Path) -> None:
    location = pkcs12_key_store(tmp_path / "own.p12", ca.identity("localhost"), ca)
    config = {
        "listeners": "https://127.0.0.1:0",
        "ssl.keystore.location": str(location),
        "ssl.keystore.password": PASSWORD,
    }
    url = serve(config, stores=key_stores).advertised_url
    assert get(url, verify=trusting(ca)).status_code == 200
    with pytest.raises(RestSettingError, match=r"Only PEM can be read here: `ssl\.keystore\.type=PEM`"):
        serve(config)
    with pytest.raises(RestSettingError, match=r"The key store of `ssl\.keystore\.location` can't be opened"):
        serve(config | {"ssl.keystore.password": "wrong"}, stores=key_stores)


def test_http_beside_https(serve: Serve, ca: Authority, tmp_path: Path) -> None:
    config = https(ca.identity("localhost"), tmp_path / "own.pem") | {"listeners": f"https://127.0.0.1:0,{LOCAL}"}
    server = serve(config)
    assert server.advertised_url == f"http://127.0.0.1:{server.listeners[1].port}/"
    config["rest.advertised.listener"] = "https"
    assert serve(config).advertised_url.startswith("https://")


@pytest.mark.parametrize(("auth", "without"), [("none", 200), ("requested", 200), ("required", None)])
def test_certificates_of_clients(serve: Serve, ca: Authority, tmp_path: Path, auth: str, without: int | None) -> None:
    (tmp_path / "ca.pem").write_text(ca.certificate_pem)
    config = https(ca.identity("localhost"), tmp_path / "own.pem") | {
        "listeners.https.ssl.client.auth": auth,
        "listeners.https.ssl.truststore.location": str(tmp_path / "ca.pem"),
        "listeners.https.ssl.truststore.type": "PEM",
    }
    url = serve(config).advertised_url
    own = pem_file(ca.identity("a client"), tmp_path / "client.pem")
    assert get(url, verify=trusting(ca, own)).status_code == 200
    if without is None:
        with pytest.raises(httpx.HTTPError):
            get(url, verify=trusting(ca))
    else:
        assert get(url, verify=trusting(ca)).status_code == without


def test_requests_are_passed_on_over_https(serve: Serve, ca: Authority, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(ca.certificate_pem)
    config = https(ca.identity("localhost"), tmp_path / "own.pem") | {
        "listeners.https.ssl.client.auth": "required",
        "listeners.https.ssl.truststore.type": "PEM",
        "listeners.https.ssl.truststore.location": str(tmp_path / "ca.pem"),
    }
    leader = serve(config, m.Reply(200, "from the leader"))
    follower = serve(config, m.Elsewhere(leader.advertised_url))
    context = client_context(config, None)
    assert get(f"{follower.advertised_url}connectors", verify=context).json() == "from the leader"


def call(request: CallLeader) -> Completed:
    """What comes of it when a worker asks its leader."""
    outcomes: list[Completed] = []
    background = Background(
        Threads(),
        outcomes.append,
        validate=lambda config: None,
        offsets=Mock(),
        fence=lambda name, tasks, config: None,
        tls=client_context({}, None),
    )
    background.do(request)
    until(lambda: bool(outcomes), "the leader has answered", SECONDS)
    return outcomes[0]


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_other_workers_are_asked_directly(serve: Serve, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}"
    for each in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(variable, nobody)
    leader = serve({"listeners": LOCAL}, m.Reply(200, "from the leader"))
    follower = serve({"listeners": LOCAL}, m.Elsewhere(leader.advertised_url))
    with httpx.Client(trust_env=False, timeout=60) as client:
        assert client.get(f"{follower.advertised_url}connectors").json() == "from the leader"
    outcome = call(CallLeader("GET", leader.advertised_url, ("connectors",), None, None, "HmacSHA256", token=1))
    assert outcome.error is None


@pytest.mark.parametrize("name", ["c", "a/b", ".."])
def test_the_leader_gets_task_configurations_as_they_are(name: str) -> None:
    """With halves of surrogate pairs as well, as in the name of a file that is no UTF-8."""
    asked: list[m.Request] = []

    def submit(request: m.Request) -> Future[m.Reply]:
        asked.append(request)
        future: Future[m.Reply] = Future()
        future.set_result(m.Reply(204))
        return future

    leader = RestServer({"listeners": LOCAL}, submit, environment={})
    leader.start()
    configs = [{"file": "/data/\udcff", "\ud83d": "\U0001f600 \x1f"}, {}]
    path = ("connectors", name, "tasks")
    outcome = call(CallLeader("POST", leader.advertised_url, path, configs, b"key", "HmacSHA256", token=1))
    leader.stop(5)
    assert outcome.error is None
    assert isinstance(asked[-1], m.PutTaskConfigs)
    assert (asked[-1].name, list(asked[-1].configs)) == (name, configs)


def test_only_the_trust_store_is_trusted_if_there_is_one(ca: Authority, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(ca.certificate_pem)
    given = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(tmp_path / "ca.pem")}
    context = client_context(given, None)
    assert context.get_ca_certs(binary_form=True) == [ssl.PEM_cert_to_DER_cert(ca.certificate_pem)]
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)


@pytest.mark.parametrize(
    ("algorithm", "checked"), [(None, True), ("HTTPS", True), ("htps", True), ("none", True), ("", False), (" ", False)]
)
def test_hosts_of_other_workers_are_checked_unless_that_is_switched_off(algorithm: str | None, checked: bool) -> None:
    given = {} if algorithm is None else {"listeners.https.ssl.endpoint.identification.algorithm": algorithm}
    assert client_context(given, None).check_hostname is checked


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "A listener is https, but neither `ssl.keystore.location` nor `ssl.keystore.key` is set"),
        (
            {"ssl.keystore.location": "/no/such"},
            "The file of `ssl.keystore.location=/no/such` can't be read: No such file",
        ),
        ({"ssl.keystore.key": "x"}, "The key or certificate of `ssl.keystore.key` can't be used: "),
        ({"ssl.client.auth": "maybe"}, "`ssl.client.auth=maybe` must be one of none, requested, required"),
        ({"ssl.enabled.protocols": "SSLv3"}, "`ssl.enabled.protocols` has SSLv3; it may have TLSv1, "),
        ({"ssl.cipher.suites": "rot13"}, "`ssl.cipher.suites=rot13` has none that this OpenSSL knows"),
        (
            {"ssl.cipher.suites": "TLS_AES_256_GCM_SHA384", "ssl.enabled.protocols": "TLSv1.2"},
            "`ssl.cipher.suites=TLS_AES_256_GCM_SHA384` has suites of TLS 1.3 only, which ",
        ),
        (
            {"ssl.cipher.suites": "TLS_RSA_WITH_AES_128_CBC_SHA", "ssl.enabled.protocols": "TLSv1.3"},
            "`ssl.cipher.suites=TLS_RSA_WITH_AES_128_CBC_SHA` has no suite of TLS 1.3, the only one of ",
        ),
    ],
)
def test_wrong_tls_settings(serve: Serve, ca: Authority, tmp_path: Path, config: dict[str, str], message: str) -> None:
    good = (
        {} if "ssl.keystore" in str(config) or not config else https(ca.identity("localhost"), tmp_path / "own.pem", "")
    )
    with pytest.raises(RestSettingError) as error:
        serve({"listeners": "https://127.0.0.1:0", **good, **config})
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("suites", "versions", "older"),
    [
        (
            "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, TLS_DHE_RSA_WITH_AES_128_CBC_SHA256",
            "TLSv1.2",
            ["ECDHE-RSA-AES256-GCM-SHA384", "DHE-RSA-AES128-SHA256"],
        ),
        (
            "TLS_AES_256_GCM_SHA384,TLS_RSA_WITH_AES_128_CBC_SHA,TLS_EMPTY_RENEGOTIATION_INFO_SCSV",
            "TLSv1.2 TLSv1.3",
            ["AES128-SHA"],
        ),
        ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "TLSv1.2", ["ECDHE-ECDSA-CHACHA20-POLY1305"]),
        ("TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384", "TLSv1.3", None),
        ("ECDHE-RSA-AES256-GCM-SHA384,AES128-SHA", "TLSv1.2 TLSv1.3", ["ECDHE-RSA-AES256-GCM-SHA384", "AES128-SHA"]),
    ],
)
def test_cipher_suites_have_the_names_of_java_or_of_openssl(
    suites: str, versions: str, older: list[str] | None
) -> None:
    context = client_context({"ssl.cipher.suites": suites}, None)
    offered = [version for name, version in VERSIONS.items() if name in versions.split()]
    assert (context.minimum_version, context.maximum_version) == (offered[0], offered[-1])
    if older is not None:
        assert [each["name"] for each in context.get_ciphers() if each["protocol"] != "TLSv1.3"] == older


def test_settings_of_tls_may_have_blanks_around_them_and_pem_in_a_single_line(ca: Authority, tmp_path: Path) -> None:
    """Such as those that a backslash at the end of each line of a properties file leaves."""
    own = ca.identity("localhost")
    given = {
        "ssl.keystore.key": own.key_pem(),
        "ssl.keystore.certificate.chain": own.certificate_pem,
        "ssl.truststore.certificates": ca.certificate_pem,
    }
    context = client_context({name: value.replace("\n", " ") for name, value in given.items()}, None)
    assert context.get_ca_certs(binary_form=True) == [ssl.PEM_cert_to_DER_cert(ca.certificate_pem)]
    (tmp_path / "ca.pem").write_text(ca.certificate_pem)
    context = client_context({"ssl.truststore.location": f"{tmp_path / 'ca.pem'} "}, None)
    assert len(context.get_ca_certs()) == 1
