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
from concurrent.futures import Future
from http.client import HTTPException
from typing import Any

import orjson
from kafka.errors import KafkaConnectionError
from kafka.net.sasl.oauth import AbstractTokenProvider

from penstock.api.errors import ConfigError, ConnectError
from penstock.kafka.security.settings import Login, texts

log = logging.getLogger(__name__)
_now = time.monotonic

_LIFE = 3600.0
_TIMEOUT = 10.0
_MAX_ANSWER = 1 << 20
"""Bytes of an answer of the token endpoint, which a connector may choose; a longer one is no JSON."""
_RENEWED_AFTER = 0.8
"""Part of a token's lifetime after which it is renewed, as in Java."""
_PAUSE = 10.0
"""Seconds before another attempt, as in Java, while the last token is still good."""
_PATIENCE = 3.0
"""Seconds to wait for a first token; a session of the group ends after 10 by default."""


class OAuthTokens(AbstractTokenProvider):  # type: ignore[misc]
    """Called whenever a connection logs in, on the thread that sends the group's heartbeats as well.

    The life of a token is measured from when it came, by a clock that nobody sets.
    """

    def __init__(self, java: Mapping[str, Any], login: Login) -> None:
        self._java, self._login = texts(java), login
        self._lock = threading.Lock()
        self._token, self._renew, self._ends = "", 0.0, 0.0
        self._attempt: Future[str] = Future()
        self._attempt.set_result("")
        self._failing = False

    def token(self) -> str:
        """Returns soon, with the last token while a new one is requested.

        Raises a retriable error of kafka-python's while there is none, which is no reason to give up the group.
        """
        with self._lock:
            now = _now()
            if now >= min(self._renew, self._ends) and self._attempt.done():
                self._attempt = Future()
                threading.Thread(target=self._obtain, args=(self._attempt,), name="oauth-token", daemon=True).start()
            attempt, last = self._attempt, self._token if now < self._ends else ""
        try:
            return last or attempt.result(_PATIENCE)
        except TimeoutError:
            raise KafkaConnectionError(f"There has been no token for {_PATIENCE:g} s; it is awaited") from None

    def _obtain(self, attempt: Future[str]) -> None:
        try:
            token, life = self._new()
        except Exception as error:
            with self._lock:
                still = _now() < self._ends
                log.log(
                    logging.DEBUG if self._failing else logging.WARNING,
                    "%s; %s",
                    error,
                    "the last one is used until it ends" if still else "retrying",
                )
                self._failing = True
                self._renew = _now() + _PAUSE
            attempt.set_exception(KafkaConnectionError(str(error)) if isinstance(error, ConnectError) else error)
        else:
            with self._lock:
                self._token, self._failing, self._ends = token, False, _now() + life
                self._renew = _now() + life * _RENEWED_AFTER
            attempt.set_result(token)

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
                document = orjson.loads(answer.read(_MAX_ANSWER))
            return str(document["access_token"]), float(document.get("expires_in", _LIFE))
        except (OSError, HTTPException, ValueError, KeyError, TypeError) as e:
            raise ConnectError(
                f"Failed to get a token from sasl.oauthbearer.token.endpoint.url={self._endpoint}: {e!r}"
            ) from e

    def _credential(self, setting: str, option: str) -> str:
        given = self._java.get(f"sasl.oauthbearer.client.credentials.{setting}")
        return given or self._login.options.get(option, "")


def _encoded(part: Mapping[str, Any]) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(part)).rstrip(b"=").decode()
