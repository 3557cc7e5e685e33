"""Requests of this worker to other workers of the group.

``Forwarding`` passes a request on to the worker that must answer it, with two hops at most (Java:
HerderRequestHandler). The first worker adds ``forward=true``, the second ``forward=false``; a worker that gets false
and is not the right one either answers 409: a rebalance is in progress, the client may retry. An answer that no worker
gives, such as a page of HTML of a Java worker's Jetty, is an error of this worker (Java: RestClient).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx
from starlette.requests import Request
from starlette.responses import Response

from penstock.core.model.messages import ALGORITHM_HEADER, SIGNATURE_HEADER, Refused
from penstock.http.access.authentication.principals import Forwarded, principal_of, target_of
from penstock.http.media_types import JSON

IO_ERROR = "IO Error trying to forward REST request"
KEPT = ("content-type", "authorization", SIGNATURE_HEADER.lower(), ALGORITHM_HEADER.lower())


class Forwarding:
    def __init__(self, client: httpx.AsyncClient, forwarded: Forwarded) -> None:
        self._client, self._forwarded = client, forwarded

    async def to(self, url: str | None, request: Request) -> Response:
        """Forward a request and return the reply. Raises Refused with 409 if the worker is not known, or this is one
        hop too many.

        500 if it can't be reached, or its answer is not one of a worker.
        """
        forward = request.query_params.get("forward") or None
        if forward is not None and forward.lower() != "true":
            raise Refused(409, "Cannot complete request because of a conflicting operation (e.g. worker rebalance)")
        if not url:
            raise Refused(
                409,
                "Cannot complete request momentarily due to no known leader URL, "
                "likely because a rebalance was underway.",
            )
        query = [(k, v) for k, v in request.query_params.multi_items() if k != "forward"]
        query.append(("forward", "true" if forward is None else "false"))
        target = httpx.URL(url.rstrip("/") + request.scope["raw_path"].decode("latin-1"), params=query)
        headers = {"accept": JSON} | {name: request.headers[name] for name in KEPT if name in request.headers}
        body = await request.body()
        signed = target_of(request.scope["raw_path"], query)
        headers |= self._forwarded.header(principal_of(request), request.method, signed, body)
        try:
            answer = await self._client.request(request.method, target, content=body, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            why = str(error) or type(error).__name__
            raise Refused(500, f"{IO_ERROR}: {url}: {why}") from None
        return _relayed(answer, url)


def _relayed(answer: httpx.Response, url: str) -> Response:
    status, body = answer.status_code, answer.content
    if not (answer.is_success or status >= 400):
        raise Refused(500, f"Unexpected status code when handling forwarded request: {status}")
    if (body or status >= 400) and not _is_of_worker(body, status):
        raise Refused(500, f"{IO_ERROR}: {url}: its reply with status {status} is not a worker's")
    headers = {"location": answer.headers["location"]} if "location" in answer.headers else {}
    return Response(body, status, headers | ({"content-type": JSON} if body else {}))


def _is_of_worker(body: bytes, status: int) -> bool:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return status < 400 or (isinstance(document, dict) and {"error_code", "message"} <= document.keys())


PATIENCE_S = 5.0


async def answer_of(client: httpx.AsyncClient, url: str, params: Mapping[str, Any], request: Request) -> Any:
    """Return the JSON document at this URL, read with the credentials of the request; None if none arrives in time."""
    headers = {key: request.headers[key] for key in ("authorization",) if key in request.headers}
    try:
        answer = await client.get(url, params=params, headers=headers, timeout=PATIENCE_S)
        return answer.json() if answer.is_success else None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return None
