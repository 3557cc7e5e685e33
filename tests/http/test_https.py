"""The server and its clients with TLS: real sockets on this machine."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx
import pytest

from penstock.core.model import messages as m
from penstock.http.access.listeners import RestSettingError
from penstock.http.access.tls import VERSIONS, client_context
from penstock.http.server import RestServer
from penstock.java import key_stores
from support.certificates import PASSWORD, Authority, Identity, pkcs12_key_store

get = partial(httpx.get, timeout=900)
LOCAL = "http://127.0.0.1:0"
Serve = Callable[..., RestServer]


@pytest.fixture(scope="module")
def ca() -> Authority:
    return Authority.make()


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
