"""``/connector-plugins``: plugins, their settings, and validation (Java: ConnectorPluginsResource)."""

from __future__ import annotations

from starlette.responses import Response

from penstock.core.model import messages as m
from penstock.http import bodies
from penstock.http.router import Ask, Call, Router


def add_routes(router: Router, ask: Ask) -> None:
    async def plugins(call: Call) -> m.Reply | Response:
        return await ask(call, m.ListPlugins(call.flag("connectorsOnly", default=True), call.flag("penstock")))

    async def plugin_config(call: Call) -> m.Reply | Response:
        versions = call.request.query_params.getlist("version")
        return await ask(call, m.GetPluginConfig(call.parts["plugin"], versions[0] if versions else None))

    async def validate(call: Call) -> m.Reply | Response:
        config = bodies.config(await bodies.document(call.request), "The configuration")
        return await ask(call, m.ValidateConfig(call.parts["plugin"], config, call.flag("penstock")))

    router.add("GET", "/connector-plugins", plugins)
    router.add("GET", "/connector-plugins/{plugin}/config", plugin_config)
    router.add("PUT", "/connector-plugins/{plugin}/config/validate", validate)
