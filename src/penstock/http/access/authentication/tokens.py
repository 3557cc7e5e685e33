"""Bearer tokens of an OIDC provider, checked with its public keys (JWKS)."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from penstock.http.access.listeners import RestSettingError

log = logging.getLogger(__name__)

PREFIX = "penstock.authentication.oidc."
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA"]
"""Those with public keys; with others, everybody who can check a token could make one."""
KEYS_AGAIN_S = 300.0
RETRY_S = 10.0
LONGEST = 16_384


class OidcTokens:
    def __init__(self, config: Mapping[str, str]) -> None:
        """Raises RestSettingError."""
        self._jwks = config[f"{PREFIX}jwks"].strip()
        self._name = config.get(f"{PREFIX}principal.claim", "sub").strip()
        self._groups = config.get(f"{PREFIX}groups.claim", "groups").strip()
        wanted: dict[str, Any] = {"exp": {"essential": True}}
        for claim, setting in (("iss", "issuer"), ("aud", "audience")):
            given = config.get(f"{PREFIX}{setting}", "").strip()
            if not given:
                raise RestSettingError(f"`{PREFIX}jwks` needs `{PREFIX}{setting}`: tokens for others would be accepted")
            wanted[claim] = {"essential": True, "value": given}
        self._claims = jwt.JWTClaimsRegistry(leeway=60, **wanted)
        self._keys: KeySet | None = None
        self._next = 0.0
        self._loading = asyncio.Lock()
        if not self._jwks.startswith(("https://", "http://")):
            try:
                self._keys = KeySet.import_key_set(json.loads(Path(self._jwks).read_text("utf-8")))
            except (OSError, ValueError, JoseError) as error:
                raise RestSettingError(f"The file of `{PREFIX}jwks={self._jwks}` can't be used: {error}") from None

    async def principal(self, token: str) -> tuple[str, frozenset[str]] | None:
        """Name and groups; None for a token that does not count."""
        if len(token) > LONGEST:
            return None
        await self._refresh(KEYS_AGAIN_S)
        found = self._decoded(token)
        if found is None and time.monotonic() > self._next - KEYS_AGAIN_S + RETRY_S:
            await self._refresh(0.0)  # the provider may have new keys
            found = self._decoded(token)
        name = None if found is None else found.get(self._name)
        if found is None or not isinstance(name, str) or not name:
            return None
        groups = found.get(self._groups) or []
        return name, frozenset(str(each) for each in ([groups] if isinstance(groups, str) else groups))

    def _decoded(self, token: str) -> dict[str, Any] | None:
        if self._keys is None:
            return None
        try:
            decoded = jwt.decode(token, self._keys, algorithms=ALGORITHMS)
            self._claims.validate(decoded.claims)
        except (JoseError, ValueError) as error:
            log.info("A bearer token was refused: %s", error)
            return None
        return decoded.claims

    async def _refresh(self, age: float) -> None:
        async with self._loading:
            if self._keys is not None and time.monotonic() < self._next - KEYS_AGAIN_S + age:
                return
            self._next = time.monotonic() + KEYS_AGAIN_S
            try:
                if self._jwks.startswith(("https://", "http://")):
                    async with httpx.AsyncClient(timeout=5.0) as client:
                        text = (await client.get(self._jwks)).raise_for_status().text
                else:
                    text = await asyncio.to_thread(Path(self._jwks).read_text, "utf-8")
                self._keys = KeySet.import_key_set(json.loads(text))
            except (OSError, ValueError, JoseError, httpx.HTTPError) as error:
                self._next = time.monotonic() + RETRY_S
                log.error("The keys of `%sjwks=%s` can't be read: %s", PREFIX, self._jwks, error)
