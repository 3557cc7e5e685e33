"""Bearer tokens of an OIDC provider, checked with its public keys (JWKS).

Keys are read again when they are old, and for a token that they don't fit, but never twice within ``RETRY_S``. The
request that finds the keys old waits for new ones; those that come meanwhile, as when the provider does not answer, are
checked by the keys that are known.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Any

import httpx
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from penstock.http.access.listeners import RestSettingError

log = logging.getLogger(__name__)

PREFIX = "penstock.authentication.oidc."
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA"]
"""Algorithms with public keys; with others, everybody who can check a token could make one."""
KEYS_AGAIN_S = 300.0
RETRY_S = 10.0
TIMEOUT_S = 5.0
MAX_TOKEN_LENGTH = 16_384


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
        self._read = self._tried = -math.inf
        """When they were read last, and when that was tried last."""
        self._reading: asyncio.Task[None] | None = None
        if not self._jwks.startswith(("https://", "http://")):
            try:
                self._keys = KeySet.import_key_set(json.loads(Path(self._jwks).read_text("utf-8")))
            except (OSError, ValueError, JoseError) as error:
                raise RestSettingError(f"The file of `{PREFIX}jwks={self._jwks}` can't be used: {error}") from None

    async def principal(self, token: str) -> tuple[str, frozenset[str]] | None:
        """Return name and groups; None for a token that is not valid."""
        if len(token) > MAX_TOKEN_LENGTH:
            return None
        begun = monotonic() >= self._read + KEYS_AGAIN_S and self._begin()
        if begun or self._keys is None:
            await self._end()
        found = self._decoded(token)
        if found is None:  # the provider may have new keys
            self._begin()
            if await self._end():
                found = self._decoded(token)
        name = None if found is None else found.get(self._name)
        if found is None or not isinstance(name, str) or not name:
            return None
        groups = found.get(self._groups) or []
        return name, frozenset(str(each) for each in (groups if isinstance(groups, list) else [groups]))

    def _decoded(self, token: str) -> dict[str, Any] | None:
        if self._keys is None:
            return None
        try:
            decoded = jwt.decode(token, self._keys, algorithms=ALGORITHMS)
            self._claims.validate(decoded.claims)
        except Exception as error:  # JoseError, but a header may hold what the library does not expect
            log.info("A bearer token was refused: %s", error)
            return None
        return decoded.claims

    def _begin(self) -> bool:
        """Start to read the keys, unless that has just been tried."""
        if monotonic() < self._tried + RETRY_S:
            return False
        self._tried = monotonic()
        self._reading = asyncio.create_task(self._read_keys())
        return True

    async def _end(self) -> bool:
        """Wait until the keys have been read; return whether a read was under way."""
        if self._reading is None or self._reading.done():
            return False
        await asyncio.wait({self._reading})
        return True

    async def _read_keys(self) -> None:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                text = await self._text()
            self._keys = KeySet.import_key_set(json.loads(text))
            self._read = monotonic()
        except Exception as error:  # what is no key set raises anything
            log.error("The keys of `%sjwks=%s` can't be read: %s", PREFIX, self._jwks, str(error) or repr(error))

    async def _text(self) -> str:
        if not self._jwks.startswith(("https://", "http://")):
            return await asyncio.to_thread(Path(self._jwks).read_text, "utf-8")
        async with httpx.AsyncClient(timeout=TIMEOUT_S) as client:
            return (await client.get(self._jwks)).raise_for_status().text
