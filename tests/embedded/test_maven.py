from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from penstock.embedded.maven import CENTRAL, mirror, proxy_options, reason, repository, trust_store
from penstock.java.key_stores import trusted
from support.certificates import Authority


def settings(folder: Path, mirrors: str, namespace: str = ' xmlns="http://maven.apache.org/SETTINGS/1.2.0"') -> Path:
    file = folder / "settings.xml"
    file.write_text(f"<settings{namespace}><mirrors>{mirrors}</mirrors></settings>")
    return file


def entry(of: str, url: str) -> str:
    return f"<mirror><id>m</id><mirrorOf>{of}</mirrorOf><url>{url}</url></mirror>"


@pytest.mark.parametrize("of", ["*", "central", "external:*", "x, central", "*,!internal"])
def test_a_mirror_of_central_is_used(tmp_path: Path, of: str) -> None:
    text = entry("other", "http://no") + entry(of, " https://mirror.example/maven ")
    assert mirror(settings(tmp_path, text)) == "https://mirror.example/maven"
    assert mirror(settings(tmp_path, text, "")) == "https://mirror.example/maven"


@pytest.mark.parametrize("of", ["other", "*,!central", ""])
def test_other_mirrors_are_not(tmp_path: Path, of: str) -> None:
    assert mirror(settings(tmp_path, entry(of, "http://no"))) is None


def test_without_readable_settings_there_is_no_mirror(tmp_path: Path) -> None:
    assert mirror(tmp_path / "settings.xml") is None
    (tmp_path / "settings.xml").write_text("<settings>")
    assert mirror(tmp_path / "settings.xml") is None


def test_the_variable_wins_and_central_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_MAVEN_REPOSITORY", raising=False)
    assert repository(tmp_path / "none.xml") == CENTRAL
    file = settings(tmp_path, entry("*", "https://mirror.example/maven"))
    assert repository(file) == "https://mirror.example/maven/"
    monkeypatch.setenv("PENSTOCK_MAVEN_REPOSITORY", "https://own.example/")
    assert repository(file) == "https://own.example/"


def test_proxies_become_properties_of_the_jvm() -> None:
    proxies = {"http": "http://proxy.example:3128", "https": "proxy.example", "no": "localhost, .example.org"}
    assert proxy_options(proxies) == [
        "-Dhttp.proxyHost=proxy.example",
        "-Dhttp.proxyPort=3128",
        "-Dhttps.proxyHost=proxy.example",
        "-Dhttps.proxyPort=80",
        "-Dhttp.nonProxyHosts=localhost|*.example.org",
    ]
    assert proxy_options({"no": "localhost"}) == []


def test_a_trust_store_needs_no_password_and_leaves_out_what_is_no_certificate() -> None:
    first, second = Authority.make("First"), Authority.make("Second")
    ders = [authority.certificate.public_bytes(Encoding.DER) for authority in (first, second)]
    assert trusted(trust_store([ders[0], b"nonsense", ders[1]]), None) == first.certificate_pem + second.certificate_pem


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("Host repo.example not found. url=https://repo.example/x", "the host repo.example is not known"),
        ("java.net.UnknownHostException: repo.example\n", "the host repo.example is not known"),
        ("x: Connection refused (Connection refused)", "Connection refused"),
        ("HTTP response status: 503 url=https://x", "HTTP response status: 503"),
        ("\t:: a#b;1: not found\n", "it is not there"),
        ("one\n two \n\n", "two"),
        ("", "Ivy said nothing"),
    ],
)
def test_ivy_failures_are_explained(output: str, words: str) -> None:
    assert reason(output) == words
