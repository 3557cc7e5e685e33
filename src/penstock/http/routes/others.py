"""What other workers of the group answer to a request that this one has got."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
from starlette.requests import Request

PATIENCE_S = 5.0


async def answer_of(client: httpx.AsyncClient, url: str, params: Mapping[str, Any], request: Request) -> Any:
    """The JSON document at this URL, with the credentials of the request; None if none comes in time."""
    headers = {key: request.headers[key] for key in ("authorization",) if key in request.headers}
    try:
        answer = await client.get(url, params=params, headers=headers, timeout=PATIENCE_S)
        return answer.json() if answer.is_success else None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return None
