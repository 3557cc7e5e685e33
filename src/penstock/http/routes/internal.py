"""Requests of workers to the leader: signed, and not forwarded as users' requests are (KIP-507, KIP-618).

Java: InternalConnectResource. The signature is over the body's bytes, whatever their content type. It is checked before
the body is parsed, and again when the request is carried out.
"""

from __future__ import annotations

import base64
import binascii

from starlette.responses import Response

from penstock.core.model import messages as m
from penstock.http import bodies
from penstock.http.router import Ask, Call, Router


def add_routes(router: Router, ask: Ask) -> None:
    async def put_task_configs(call: Call) -> m.Reply | Response:
        signed = await signature(call)
        checked = await ask(call, m.CheckSignature(signed))
        if not isinstance(checked, m.Reply) or checked.status != 204:
            return checked
        sent = await bodies.parsed(signed.body, halves=True)  # as in the name of a file that is no UTF-8
        if not isinstance(sent, list):
            raise m.Refused(400, "The request must be a list of task configurations")
        configs = [bodies.config(config, "A task configuration") for config in sent]
        texts = tuple({k: v for k, v in config.items() if v is not None} for config in configs)
        return await ask(call, m.PutTaskConfigs(call.name, texts, signed))

    async def fence(call: Call) -> m.Reply | Response:
        return await ask(call, m.FenceTasks(call.name, await signature(call)))

    router.add("POST", "/connectors/{name}/tasks", put_task_configs, consumes=False, guarded=False)
    router.add("PUT", "/connectors/{name}/fence", fence, consumes=False, guarded=False)


async def signature(call: Call) -> m.Signature:
    headers = call.request.headers
    header, algorithm = headers.get(m.SIGNATURE_HEADER), headers.get(m.ALGORITHM_HEADER)
    try:
        signed = None if header is None else base64.b64decode(header, validate=True)
    except binascii.Error:
        raise m.Refused(400, "Internal request signature is not valid Base64") from None
    return m.Signature(await call.request.body(), signed, algorithm)
