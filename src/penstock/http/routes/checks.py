"""Checks of targets: ``POST /penstock/v1/check`` of a configuration, ``POST …/connectors/{name}/check`` of a connector.

Both contact what the configuration names, with the credentials in it, and change nothing.
"""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from penstock.core.model import local_requests as local
from penstock.core.model import messages as m
from penstock.http import bodies
from penstock.http.router import Ask, Call, Router
from penstock.http.routes.history import ONE, number_in_query

SECONDS, MAX_SECONDS = 30, 45
CHECK = ("name", "config", "patch", "seconds")


def add_routes(router: Router, ask: Ask) -> None:
    async def of_config(call: Call) -> m.Reply | Response:
        return await ask(call, check_request(await bodies.document(call.request)))

    async def of_connector(call: Call) -> m.Reply | Response:
        seconds = number_in_query(call, "seconds")
        given = SECONDS if seconds is None else min(max(seconds, 1), MAX_SECONDS)
        return await ask(call, local.CheckConnector(call.name, given))

    router.add("POST", "/penstock/v1/check", of_config)
    router.add("POST", f"{ONE}/check", of_connector)


def check_request(document: Any) -> local.CheckConfig:
    """Raises Refused (400)."""
    given = bodies.members(document, "A check", *CHECK)
    name = given.get("name")
    if not isinstance(name, str) or isinstance(name, bodies.Number) or not name:
        raise m.Refused(400, "A check needs the name of the connector, which need not exist, in 'name'")
    if ("config" in given) == ("patch" in given):
        raise m.Refused(400, "A check has either 'config' or 'patch'")
    member = "patch" if "patch" in given else "config"
    config = bodies.config(given[member], f"'{member}'")
    if config.get("name") not in (None, name):
        raise m.Refused(400, f"The configuration is of connector {config['name']}, the check of {name}")
    seconds = given.get("seconds", bodies.Number(str(SECONDS)))
    if not (isinstance(seconds, bodies.Number) and seconds.isdecimal() and 1 <= int(seconds) <= MAX_SECONDS):
        raise m.Refused(400, f"'seconds' must be a number from 1 to {MAX_SECONDS}")
    return local.CheckConfig(name, config, member == "patch", int(seconds))
