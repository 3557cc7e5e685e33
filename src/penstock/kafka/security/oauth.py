"""Tokens for kafka-python's OAUTHBEARER, as Java's login module gets them: from the token endpoint by the client's
credentials, or without an endpoint unsigned ones, for brokers that accept them (development only).

librdkafka gets its own. Java: ``OAuthBearerLoginCallbackHandler``, ``OAuthBearerUnsecuredLoginCallbackHandler``.
"""

from __future__ import annotations

import base64
import logging
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

import orjson
from kafka.errors import KafkaConnectionError
from kafka.net.sasl.oauth import AbstractTokenProvider

from penstock.api.errors import ConfigError, ConnectError
from penstock.kafka.security.settings import Login, texts

log = logging.getLogger(__name__)

_LIFE = 3600.0
_TIMEOUT = 10.0
_RENEWED_AFTER = 0.8
"""Of a token's life, as in Java."""
_PAUSE = 10.0
"""Seconds before another attempt, as in Java, while the last token is still good."""


class Tokens(AbstractTokenProvider):  # type: ignore[misc]
    """Called whenever a connection logs in."""

    def __init__(self, java: Mapping[str, Any], login: Login) -> None:
        self._java, self._login = texts(java), login
        self._lock = threading.Lock()
        self._token, self._renew, self._ends = "", 0.0, 0.0
        self._failing = False

    def token(self) -> str:
        """Raises a retriable error of kafka-python's while there is none, which is no reason to give up the group."""
        with self._lock:
            if time.time() >= self._renew:
                self._obtain()
            return self._token

    def _obtain(self) -> None:
        try:
            self._token, life = self._new()
        except ConnectError as error:
            still = time.time() < self._ends
            log.log(
                logging.DEBUG if self._failing else logging.WARNING,
                "%s; %s",
                error,
                "the last one is used until it ends" if still else "retrying",
            )
            self._failing = True
            if not still:
                raise KafkaConnectionError(str(error)) from error
            self._renew = time.time() + _PAUSE
        else:
            self._failing, self._ends = False, time.time() + life
            self._renew = time.time() + life * _RENEWED_AFTER

    def extensions(self) -> dict[str, str]:
        options = self._login.options
        return {name[10:]: value for name, value in options.items() if name.startswith("extension_")}

    def _new(self) -> tuple[str, float]:
        """A token and its life in seconds."""
        if self._login.cloud is not None:
            found = self._login.cloud.token()
            return found.text, found.expires - time.time()
        return self._fetched() if self._endpoint else (self._unsecured(), _LIFE)

    @property
    def _endpoint(self) -> str:
        return self._java.get("sasl.oauthbearer.token.endpoint.url", "")

    def _unsecured(self) -> str:
        now = time.time()
        claims = {"sub": self._login.username, "iat": now, "exp": now + _LIFE}
        return f"{_encoded({'alg': 'none'})}.{_encoded(claims)}."

    def _fetched(self) -> tuple[str, float]:
        client = self._credential("client.id", "clientId")
        secret = self._credential("client.secret", "clientSecret")
        scope = self._login.options.get("scope") or self._java.get("sasl.oauthbearer.scope")
        form = {"grant_type": "client_credentials", **({"scope": scope} if scope else {})}
        basic = base64.b64encode(f"{client}:{secret}".encode()).decode()
        if not self._endpoint.lower().startswith(("http://", "https://")):
            raise ConfigError(
                "sasl.oauthbearer.token.endpoint.url", self._endpoint, "It has to begin with http:// or https://"
            )
        request = urllib.request.Request(
            self._endpoint, urllib.parse.urlencode(form).encode(), {"Authorization": f"Basic {basic}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
                document = orjson.loads(answer.read())
            return str(document["access_token"]), float(document.get("expires_in", _LIFE))
        except (OSError, ValueError, KeyError, TypeError) as e:
            raise ConnectError(
                f"Failed to get a token from sasl.oauthbearer.token.endpoint.url={self._endpoint}: {e!r}"
            ) from e

    def _credential(self, setting: str, option: str) -> str:
        given = self._java.get(f"sasl.oauthbearer.client.credentials.{setting}")
        return given or self._login.options.get(option, "")


def _encoded(part: Mapping[str, Any]) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(part)).rstrip(b"=").decode()
