"""``/admin/loggers``: levels of loggers, on this worker or on all (KIP-495, KIP-976; Java: LoggingResource)."""

from __future__ import annotations

from starlette.responses import Response

from penstock.core.model import messages as m
from penstock.http import bodies
from penstock.http.router import Ask, Call, Router
from penstock.observe import NUMBERS


def add_routes(router: Router, ask: Ask) -> None:
    async def all_loggers(call: Call) -> m.Reply | Response:
        return await ask(call, m.ListLoggers())

    async def one_logger(call: Call) -> m.Reply | Response:
        return await ask(call, m.GetLogger(call.parts["logger"]))

    async def set_level(call: Call) -> m.Reply | Response:
        body = bodies.config(await bodies.document(call.request), "The request")
        level = body.get("level")
        if level is None:
            raise m.Refused(400, "Desired 'level' parameter was not specified in request.")
        if not level:
            raise m.Refused(400, "Illegal null or empty Level name.")
        if level.strip().upper() not in NUMBERS:
            raise m.Refused(404, f"invalid log level '{level}'.")
        name = call.parts["logger"]
        if call.query("scope").lower() == "cluster":
            return await ask(call, m.SetClusterLogger(name, level))
        return await ask(call, m.SetLogger(name, level))

    router.add("GET", "/admin/loggers", all_loggers)
    router.add("GET", "/admin/loggers/{logger}", one_logger)
    router.add("PUT", "/admin/loggers/{logger}", set_level)
