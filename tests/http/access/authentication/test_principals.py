"""Authentication by tokens, certificates and headers of other workers, over real sockets."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OctKey

from penstock.core.model import messages as m
from penstock.http.access.authentication import tokens as oidc_tokens
from penstock.http.access.authentication.tokens import KEYS_AGAIN_S, RETRY_S, OidcTokens
from penstock.http.access.listeners import RestSettingError
from penstock.http.server import RestServer
from support.certificates import Authority

get = partial(httpx.get, timeout=900)
OIDC = "penstock.authentication.oidc."
Serve = Callable[..., RestServer]


def claims(**changed: Any) -> dict[str, Any]:
    given = {"iss": "https://idp", "aud": "connect", "sub": "tom", "groups": ["ops"], "exp": int(time.time()) + 600}
    return {name: value for name, value in {**given, **changed}.items() if value is not None}


@pytest.fixture
def key() -> ECKey:
    return ECKey.generate_key("P-256", {"kid": "1"})


@pytest.fixture
def oidc(key: ECKey, tmp_path: Path) -> dict[str, str]:
    (tmp_path / "jwks.json").write_text(json.dumps(KeySet([key]).as_dict(private=False)))
    return {
        f"{OIDC}jwks": str(tmp_path / "jwks.json"),
        f"{OIDC}issuer": "https://idp",
        f"{OIDC}audience": "connect",
    }


def test_tokens(oidc: dict[str, str], key: ECKey) -> None:
    tokens = OidcTokens(oidc)

    def known(given: dict[str, Any], by: Any = key, alg: str = "ES256") -> Any:
        return asyncio.run(tokens.principal(jwt.encode({"alg": alg, "kid": "1"}, given, by, algorithms=[alg])))

    assert known(claims()) == ("tom", frozenset({"ops"}))
    assert known(claims(groups="one")) == ("tom", frozenset({"one"}))
    for wrong in (
        claims(iss="https://other"),
        claims(aud="others"),
        claims(exp=int(time.time()) - 600),
        claims(exp=None),
        claims(sub=None),
    ):
        assert known(wrong) is None
    assert known(claims(), ECKey.generate_key("P-256", {"kid": "1"})) is None
    public = OctKey.import_key(json.dumps(key.as_dict(private=False)).encode())  # the public key as if it were a secret
    assert known(claims(), public, "HS256") is None
    header = "eyJhbGciOiJub25lIn0"  # {"alg":"none"}
    assert asyncio.run(tokens.principal(f"{header}.eyJzdWIiOiJ0b20ifQ.")) is None
    assert asyncio.run(tokens.principal("x" * 1_000_000)) is None


def test_keys_of_the_provider_are_read_again(oidc: dict[str, str], tmp_path: Path) -> None:
    tokens = OidcTokens(oidc)
    new = ECKey.generate_key("P-256", {"kid": "2"})
    (tmp_path / "jwks.json").write_text(json.dumps(KeySet([new]).as_dict(private=False)))
    token = jwt.encode({"alg": "ES256", "kid": "2"}, claims(), new)
    assert asyncio.run(tokens.principal(token)) == ("tom", frozenset({"ops"}))


class Provider:
    """A provider of keys: it answers when ``go`` is set, and only if it has ``keys``. ``now`` is the time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, keys: KeySet | None) -> None:
        self.keys, self.asked, self.now, self.go = keys, 0, 1000.0, asyncio.Event()
        monkeypatch.setattr(OidcTokens, "_text", self._text)
        monkeypatch.setattr(oidc_tokens, "monotonic", lambda: self.now)

    async def _text(self) -> str:
        self.asked += 1
        await self.go.wait()
        if self.keys is None:
            raise httpx.ConnectTimeout("")
        return json.dumps(self.keys.as_dict(private=False))


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_bad_tokens_delay_no_good_ones_while_the_provider_is_away(
    oidc: dict[str, str], key: ECKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider, tokens = Provider(monkeypatch, KeySet([key])), OidcTokens(oidc | {f"{OIDC}jwks": "https://idp/jwks"})
    good, known = jwt.encode({"alg": "ES256", "kid": "1"}, claims(), key), ("tom", frozenset({"ops"}))

    async def requests() -> None:
        provider.go.set()
        assert await tokens.principal(good) == known
        assert provider.asked == 1
        provider.go.clear()
        provider.keys = None
        provider.now += KEYS_AGAIN_S
        for attempt in range(2, 5):
            first = [asyncio.create_task(tokens.principal("bad.bad.bad")) for _ in range(10)]
            await settled()
            assert provider.asked == attempt
            begun = asyncio.create_task(tokens.principal(good))
            await settled()
            assert begun.done()  # although keys are being fetched
            assert begun.result() == known
            provider.go.set()
            assert await asyncio.gather(*first) == [None] * 10
            for _ in range(10):
                assert await tokens.principal("bad.bad.bad") is None
            assert await tokens.principal(good) == known
            assert provider.asked == attempt
            provider.go.clear()
            provider.now += RETRY_S

    asyncio.run(requests())


def test_a_token_waits_for_the_first_keys(oidc: dict[str, str], key: ECKey, monkeypatch: pytest.MonkeyPatch) -> None:
    provider, tokens = Provider(monkeypatch, KeySet([key])), OidcTokens(oidc | {f"{OIDC}jwks": "https://idp/jwks"})
    good = jwt.encode({"alg": "ES256", "kid": "1"}, claims(), key)

    async def requests() -> None:
        waiting = [asyncio.create_task(tokens.principal(good)) for _ in range(3)]
        await settled()
        provider.go.set()
        assert await asyncio.gather(*waiting) == [("tom", frozenset({"ops"}))] * 3

    asyncio.run(requests())
    assert provider.asked == 1


@pytest.mark.parametrize(
    "header", [{"alg": "RS256", "crit": 1}, {"alg": "ES256", "crit": {}}, {"alg": []}, {"kid": {}}]
)
def test_headers_that_are_none(oidc: dict[str, str], header: dict[str, Any]) -> None:
    first = base64.urlsafe_b64encode(json.dumps(header).encode()).rstrip(b"=").decode()
    assert asyncio.run(OidcTokens(oidc).principal(f"{first}.e30.c2ln")) is None


def test_groups_that_are_no_list(oidc: dict[str, str], key: ECKey) -> None:
    token = jwt.encode({"alg": "ES256", "kid": "1"}, claims(groups=5), key)
    assert asyncio.run(OidcTokens(oidc).principal(token)) == ("tom", frozenset({"5"}))


def test_settings_of_tokens(oidc: dict[str, str]) -> None:
    for name in ("issuer", "audience"):
        with pytest.raises(RestSettingError, match=f"needs `{OIDC}{name}`"):
            OidcTokens({key: value for key, value in oidc.items() if not key.endswith(name)})
    with pytest.raises(RestSettingError, match="can't be used"):
        OidcTokens(oidc | {f"{OIDC}jwks": "/no/such"})


def test_a_bearer_token_lets_in(serve: Serve, oidc: dict[str, str], key: ECKey) -> None:
    url = serve(oidc, m.Reply(200, {"name": "x", "config": {}})).advertised_url
    token = jwt.encode({"alg": "ES256", "kid": "1"}, claims(), key)
    assert get(url, headers={"Authorization": f"Bearer {token}"}).status_code == 200
    assert get(url, headers={"Authorization": "Bearer x"}).status_code == 401
    assert get(url).status_code == 401


def roles(folder: Path, text: str) -> dict[str, str]:
    (folder / "roles.yaml").write_text(text)
    return {"penstock.authorization.file": str(folder / "roles.yaml")}


def tls(ca: Authority, folder: Path) -> dict[str, str]:
    own = ca.identity("localhost")
    (folder / "own.pem").write_text(own.key_pem() + own.certificate_pem)
    (folder / "ca.pem").write_text(ca.certificate_pem)
    return {
        "listeners": "https://127.0.0.1:0",
        "listeners.https.ssl.keystore.type": "PEM",
        "listeners.https.ssl.keystore.location": str(folder / "own.pem"),
        "listeners.https.ssl.truststore.type": "PEM",
        "listeners.https.ssl.truststore.location": str(folder / "ca.pem"),
        "listeners.https.ssl.client.auth": "requested",
        "penstock.authentication.certificates": "true",
    }
