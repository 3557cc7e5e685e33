"""``/ui``: the web page of the worker, and ``/penstock/v1/principal``, which tells a page what its user may do.

The page is static files of ``http/ui``, which use the public REST interface only. They obey authentication like every
other path: a browser asks for a user and a password when it gets 401 with ``WWW-Authenticate: Basic``.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from starlette.responses import Response

from penstock.core.model import messages as m
from penstock.http.access.authentication.principals import principal_of
from penstock.http.access.gate import RequestGate
from penstock.http.media_types import check_accept
from penstock.http.router import Call, Router, not_found

FOLDER = Path(__file__).parents[1] / "ui"
INDEX = "index.html"
ENABLED = "penstock.ui.enabled"
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def add_routes(router: Router) -> None:
    async def index(call: Call) -> Response:
        return _answer(call, INDEX)

    async def file(call: Call) -> Response:
        return _answer(call, call.parts["file"])

    async def file_of_folder(call: Call) -> Response:
        return _answer(call, f"{call.parts['folder']}/{call.parts['file']}")

    router.add("GET", "/ui", index, consumes=False, produces="*/*")
    router.add("GET", "/ui/{file}", file, consumes=False, produces="*/*")
    router.add("GET", "/ui/{folder}/{file}", file_of_folder, consumes=False, produces="*/*")


def add_principal(router: Router, gate: RequestGate) -> None:
    async def principal(call: Call) -> m.Reply:
        found, connector = principal_of(call.request), call.query("connector") or None
        return m.Reply(
            200,
            {
                "name": found.name,
                "groups": sorted(found.groups),
                "authentication": found.how,
                "connector": connector,
                "actions": gate.actions(found, connector),
                "actions_on_some": gate.actions_on_some(found),
            },
        )

    router.add("GET", "/penstock/v1/principal", principal, consumes=False)


def _answer(call: Call, name: str) -> Response:
    """Return a file of the page. Raises Refused (404) for any other name."""
    if name not in _names():
        raise not_found()
    path = FOLDER / name
    kind = TYPES[path.suffix]
    check_accept(call.request.headers.get("accept"), kind)
    return Response(path.read_bytes(), headers={**HEADERS, "Content-Type": f"{kind}; charset=utf-8"})


@cache
def _names() -> frozenset[str]:
    return frozenset(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.suffix in TYPES)
