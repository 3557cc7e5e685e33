"""A worker's listeners and its advertised URL, from its settings."""

from __future__ import annotations

import socket

import pytest

from penstock.http.access.listeners import Listener, RestSettingError, admin_listeners, advertised_url, listeners

LOCAL = socket.gethostbyname(socket.gethostname())


@pytest.mark.parametrize(
    ("text", "listener"),
    [
        ("http://localhost:8080", Listener("http", "localhost", 8080)),
        (" HTTPS://localhost:8443 ", Listener("https", "localhost", 8443)),
        ("http://:8083", Listener("http", "", 8083)),
        ("http://[::1]:0", Listener("http", "::1", 0)),
    ],
)
def test_a_listener(text: str, listener: Listener) -> None:
    assert listeners({"listeners": text}) == (listener,)


def test_several_listeners_and_the_default() -> None:
    assert [each.port for each in listeners({"listeners": "http://a:1, https://b:2,http://c:3"})] == [1, 2, 3]
    assert listeners({}) == (Listener("http", "", 8083),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "localhost:8080",
            "Listener doesn't have the right format (protocol://hostname:port); `listeners` has localhost:8080",
        ),
        (
            "http://localhost",
            "Listener doesn't have the right format (protocol://hostname:port); `listeners` has http://localhost",
        ),
        (
            "http://a_b/c:1",
            "Listener doesn't have the right format (protocol://hostname:port); `listeners` has http://a_b/c:1",
        ),
        (
            "ftp://localhost:21",
            'Listener protocol must be either "http" or "https"; `listeners` has {}',
        ),
        ("http://localhost:-1", "port out of range:-1; `listeners` has {}"),
        ("http://localhost:65536", "port out of range:65536; `listeners` has {}"),
        ("http://a:1,,http://b:2", "Empty URL found when parsing listeners list."),
        (
            " ",
            "Invalid value for listeners, at least one URL is expected, "
            "ex: http://localhost:8080,https://localhost:8443.",
        ),
    ],
)
def test_wrong_listeners(text: str, message: str) -> None:
    with pytest.raises(RestSettingError) as error:
        listeners({"listeners": text})
    assert str(error.value) == message.format(text)


def test_admin_listeners() -> None:
    assert admin_listeners({}) is None
    assert admin_listeners({"admin.listeners": ""}) == ()
    assert admin_listeners({"admin.listeners": "http://a:1"}) == (Listener("http", "a", 1),)
    with pytest.raises(RestSettingError, match=r"Empty URL found when parsing admin\.listeners list\."):
        admin_listeners({"admin.listeners": "http://a:1,"})


@pytest.mark.parametrize(
    ("bound", "config", "url"),
    [
        ("http://a:1", {}, "http://a:1/"),
        ("https://b:2,http://a:1", {}, "http://a:1/"),
        ("https://b:2", {}, "https://b:2/"),
        ("https://b:2,http://a:1", {"rest.advertised.listener": "HTTPS"}, "https://b:2/"),
        ("http://a:1", {"rest.advertised.host.name": "me", "rest.advertised.port": "9"}, "http://me:9/"),
        ("http://[::1]:1", {}, "http://[::1]:1/"),
        ("http://:1", {}, f"http://{LOCAL}:1/"),
        ("http://0.0.0.0:1", {}, f"http://{LOCAL}:1/"),
    ],
)
def test_advertised_url(bound: str, config: dict[str, str], url: str) -> None:
    assert advertised_url(config, listeners({"listeners": bound})) == url


@pytest.mark.parametrize("setting", [("rest.advertised.listener", "ftp"), ("rest.advertised.port", "many")])
def test_invalid_advertised_settings_are_refused(setting: tuple[str, str]) -> None:
    with pytest.raises(RestSettingError, match=f"`{setting[0]}={setting[1]}` must be"):
        advertised_url(dict([setting]), listeners({}))
